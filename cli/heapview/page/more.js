/*
** more.js - the other questions of the commands, on the verdict page: each is asked when somebody
** opens it, so that a page of twelve tables costs no more than one. Which one is open stands in the
** address ("more=classes").
*/
(function (heapview) {
  "use strict";

  const {make} = heapview;
  const FIRST_ROWS = 20; /* which a written report carries, too */
  const MORE_ROWS = 10; /* times as many */

  /* `least`: so many snapshots does it need; `most`: with more it stands above. What comes `early`
  ** stands behind the first answer: who comes from other tools looks for it at once. */
  const QUESTIONS = [
    {name: "ladder", title: "All classes and places that changed, and how many in each snapshot",
      least: 2, most: 3, isEarly: true},
    {name: "objects", title: "The biggest objects", least: 1},
    {name: "classes", title: "Classes: how many objects, and what they retain", least: 1},
    {name: "modules", title: "Modules and globals: what each keeps alive", least: 1},
    {name: "threads", title: "Coroutines: where they stand, and what they hold", least: 1},
    {name: "growing", title: "Collections that look as if they had no limit", least: 1},
    {name: "waste", title: "All that could be given back", least: 1},
    {name: "epochs", title: "When what lives was allocated", least: 1, isWhole: true},
    {name: "sites", title: "Where objects were allocated, if that was tracked", least: 1},
    {name: "owners", title: "Who owns the growth", least: 2},
    {name: "strings", title: "Strings that are new", least: 2}
  ];

  /* What rows are hidden is shown by asking for more of them, where there is somebody to ask. */
  async function fill(body, question, limit) {
    try {
      const all = {since: null, until: null};
      const parameters = question.isWhole ? all : Object.assign(all, {limit});
      const answer = await heapview.ask(question.name, parameters);
      const more = heapview.isWritten() ? null : () => fill(body, question, limit * MORE_ROWS);
      body.replaceChildren(heapview.told(answer.told, {more, linksClasses: true}));
    } catch (error) {
      if (!error.aborted) body.replaceChildren(heapview.problem(error));
    }
  }

  function part(question, state) {
    const body = make("div");
    const details = make("details", {class: "more-answer", open: state.parameters.more ===
      question.name}, make("summary", {}, question.title), body);
    const load = () => {
      if (body.childNodes.length > 0) return null;
      body.append(make("p", {class: "faint"}, "asking \u2026"));
      return fill(body, question, FIRST_ROWS);
    };
    details.addEventListener("toggle", () => {
      if (details.open) heapview.keep({more: question.name});
      if (details.open) load();
    });
    return {details, loaded: details.open ? load() : null};
  }

  function partsOf(state, isEarly) {
    const n = heapview.overview.snapshots.length;
    return QUESTIONS.filter((question) => n >= question.least && n <= (question.most || n) &&
      Boolean(question.isEarly) === isEarly).map((question) => part(question, state));
  }

  /* Once what is open of them is answered. */
  async function earlyAnswers(state) {
    const parts = partsOf(state, true);
    await Promise.all(parts.map((one) => one.loaded));
    return parts.map((one) => one.details);
  }

  async function moreAnswers(state) {
    const parts = partsOf(state, false);
    if (parts.length === 0) return null;
    await Promise.all(parts.map((one) => one.loaded));
    return make("section", {class: "more-answers"}, make("h3", {}, "More answers"),
      parts.map((one) => one.details));
  }

  Object.assign(heapview, {earlyAnswers, moreAnswers});
})(window.heapview = window.heapview || {});
