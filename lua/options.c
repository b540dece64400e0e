/* options.c - reads a table of options from Lua (options.h). */
#include "options.h"

#include "rooms/graph.h"

static const lh_amount_unit sizes[] = {
    {"", 1},          {"k", 1024.0},       {"K", 1024.0},       {"m", 1048576.0},
    {"M", 1048576.0}, {"g", 1073741824.0}, {"G", 1073741824.0}, {NULL, 0}};
static const lh_amount_unit times[] = {{"", 1},   {"s", 1},    {"S", 1},    {"m", 60},
                                       {"M", 60}, {"h", 3600}, {"H", 3600}, {NULL, 0}};
static const lh_amount_unit no_units[] = {{"", 1}, {NULL, 0}};

/* The text on top, without zero bytes; NULL: another value. */
static const char *text_on_top(lua_State *L) {
  size_t length;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : NULL;
  return text && strlen(text) == length ? text : NULL;
}

/* 524288, "512M" and "1.5h". */
static bool read_amount(lua_State *L, const lh_amount_unit *units, double least, double *out) {
  const char *text = text_on_top(L);
  bool good = lua_type(L, -1) == LUA_TNUMBER;
  if (good) *out = lua_tonumberx(L, -1, NULL);
  if (text) good = *text != '.' && lh_read_amount(text, units, out);
  return good && *out >= least && *out < 0x1p53;
}

/* Of "1.3K" whole bytes are taken; 1.5 is none. */
static bool read_size(lua_State *L, double least, uint64_t *out) {
  double bytes;
  if (!read_amount(L, sizes, least, &bytes)) return false;
  *out = (uint64_t)bytes;
  return lua_type(L, -1) == LUA_TSTRING || bytes == (double)*out;
}

static bool read_whole(lua_State *L, double least, uint64_t *out) {
  int is_integer;
  lua_Integer n = lua_tointegerx(L, -1, &is_integer);
  *out = (uint64_t)n;
  return lua_type(L, -1) == LUA_TNUMBER && is_integer && n >= 0 && (double)n >= least;
}

/* Copies the text below the name and the value, where it stays. */
static bool read_text(lua_State *L, const char **out) {
  *out = text_on_top(L);
  if (!*out || **out == '\0') return false;
  lua_pushvalue(L, -1);
  lua_insert(L, -3);
  return true;
}

static bool read_switch(lua_State *L, bool *out) {
  static const char *const words[] = {"no", "yes", NULL};
  int i = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : hl_find_word(L, -1, words);
  *out = i > 0;
  return i >= 0;
}

int hl_find_word(lua_State *L, int index, const char *const *words) {
  const char *word = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
  for (int i = 0; word && words[i]; i++)
    if (strcmp(word, words[i]) == 0) return i;
  return -1;
}

static bool read_word_option(lua_State *L, const char *const *words, unsigned *out) {
  int i = hl_find_word(L, -1, words);
  if (i >= 0) *out = (unsigned)i;
  return i >= 0;
}

static bool read_value(lua_State *L, const hl_option *option, void *out) {
  void *field = (char *)out + option->field;
  const char *text = text_on_top(L);
  bool is_true = lua_isboolean(L, -1) && lua_toboolean(L, -1);
  if (option->or_true && is_true) return true;
  switch (option->kind) {
    case HL_FLAG: *(bool *)field = lua_toboolean(L, -1); return true;
    case HL_SWITCH: return read_switch(L, field);
    case HL_COUNT: return read_whole(L, option->least, field);
    case HL_NUMBER: return read_amount(L, no_units, option->least, field);
    case HL_SIZE: return read_size(L, option->least, field);
    case HL_SECONDS: return read_amount(L, times, option->least, field);
    case HL_TEXT: return read_text(L, field);
    case HL_WORD: return read_word_option(L, option->words, field);
    case HL_TYPES: return text && !lh_read_types(text, field);
    default: return option->read(L, option, out);
  }
}

const hl_option *hl_find_wrong_option(lua_State *L, int index, const hl_option *options,
                                      void *out) {
  lua_pushnil(L);
  while (lua_next(L, index)) {
    const hl_option *option = options;
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    while (option->name && strcmp(option->name, name) != 0) option++;
    bool is_absent = option->kind > HL_SWITCH && !lua_toboolean(L, -1);
    if (!option->name || !(is_absent || read_value(L, option, out))) return option;
    if (option->given && !is_absent) *((bool *)out + option->given) = true;
    lua_pop(L, 1);
  }
  return NULL;
}

/* "'n' must be a whole number, 0 or more" */
static void describe_need(char *text, size_t size, const hl_option *option) {
  static const char *const needs[] = {
      [HL_SWITCH] = "must be true or false",
      [HL_COUNT] = "must be a whole number",
      [HL_NUMBER] = "must be a number",
      [HL_SIZE] = "must be a number of bytes, as 524288 or \"512K\"",
      [HL_SECONDS] = "must be a number of seconds, as 0.5 or \"10m\"",
      [HL_TEXT] = "must be a text",
      [HL_WORD] = "must be one of",
      [HL_TYPES] =
          "is one of table, string, closure, upvalue, proto, userdata, thread, or several "
          "with commas"};
  const char *need = option->need ? option->need : needs[option->kind];
  int n = snprintf(text, size, "'%s' %s", option->name, need);
  if (!option->need && option->kind == HL_COUNT)
    (void)snprintf(text + n, size - (size_t)n, ", %.0f or more", option->least);
  for (const char *const *word = option->words; word && *word; word++)
    n += snprintf(text + n, size - (size_t)n, "%s %s", word == option->words ? "" : ",", *word);
}

/* "the options are 'n', 'sort' and 'type'" */
static void list_names(char *text, size_t size, const hl_option *options) {
  int n = snprintf(text, size, "the option%s", options[1].name ? "s are" : " is");
  for (const hl_option *o = options; o->name; o++)
    n += snprintf(text + n, size - (size_t)n, "%s '%s'",
                  o == options ? ""
                  : o[1].name  ? ","
                               : " and",
                  o->name);
}

void hl_read_options(lua_State *L, int index, const hl_option *options, void *out) {
  char message[256];
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  const hl_option *wrong = hl_find_wrong_option(L, index, options, out);
  if (!wrong) return;
  if (wrong->name)
    describe_need(message, sizeof message, wrong);
  else
    list_names(message, sizeof message, options);
  luaL_argerror(L, index, message);
}
