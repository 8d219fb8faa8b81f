/* The script of the fake backend as text: reads it, splits it into lines and selects the lines that
 * apply to a problem. scenario.h interprets the lines; ../README.md describes the language.
 */
#ifndef FAKE_SCRIPT_H_
#define FAKE_SCRIPT_H_

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deepbench/plugin.h"

enum { kNameSize = 48, kTextSize = 256, kMaxFacts = 48, kLineSize = 8192, kMaxWords = 600 };

/* ---- errors ---------------------------------------------------------------------------------- */

static _Thread_local char fake_error[kTextSize + 64];
static _Thread_local bool fake_error_is_null; /* scripted: last_error() violates its contract */

static inline deepbench_status fail(deepbench_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fake_error, sizeof fake_error, format, arguments);
  va_end(arguments);
  fake_error_is_null = false;
  return status;
}

/* A text `C*COUNT` stands for that many characters C, so that a script can hold texts of any
 * length; NULL for all other texts. The caller frees it. */
static inline char* repeated_character(const char* text) {
  char* end = NULL;
  if (!text[0] || text[1] != '*' || text[2] < '0' || text[2] > '9') return NULL;
  const unsigned long long count = strtoull(text + 2, &end, 10);
  char* all = *end ? NULL : malloc(count + 1);
  if (!all) return NULL;
  memset(all, text[0], count);
  all[count] = '\0';
  return all;
}

static inline const char* fake_last_error(void) {
  static _Thread_local char* repeated; /* until the thread's next call */
  if (fake_error_is_null) return NULL;
  free(repeated);
  repeated = repeated_character(fake_error);
  return repeated ? repeated : fake_error;
}

/* ---- the context of conditions --------------------------------------------------------------- */

/* The operation, its attributes and the options of a call, all as text. */
typedef struct Context {
  int count;
  char names[kMaxFacts][kNameSize];
  char texts[kMaxFacts][kNameSize];
} Context;

static inline const char* context_text(const Context* context, const char* name) {
  for (int i = 0; i < context->count; ++i)
    if (strcmp(context->names[i], name) == 0) return context->texts[i];
  return "";
}

static inline int64_t context_integer(const Context* context, const char* name, int64_t fallback) {
  const char* text = context_text(context, name);
  return *text ? strtoll(text, NULL, 10) : fallback;
}

static inline void context_set(Context* context, const char* name, const char* text) {
  int i = 0;
  while (i < context->count && strcmp(context->names[i], name) != 0) ++i;
  if (i == kMaxFacts) return;
  if (i == context->count) ++context->count;
  snprintf(context->names[i], kNameSize, "%s", name);
  snprintf(context->texts[i], kNameSize, "%s", text);
}

static inline void context_add(Context* context, deepbench_values values) {
  for (size_t i = 0; i < values.count; ++i) {
    const deepbench_value* value = &values.items[i];
    char number[kNameSize];
    if (value->kind == DEEPBENCH_INTEGER)
      snprintf(number, sizeof number, "%" PRId64, value->integer);
    else
      snprintf(number, sizeof number, "%.17g", value->real);
    context_set(context, value->name, value->kind == DEEPBENCH_TEXT ? value->text : number);
  }
}

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct Line {
  int number;    /* in the script, from 1 */
  uint64_t from; /* first batch to which the line applies */
  int count;     /* words after the conditions: the verb and its arguments */
  const char** words;
  char text[kLineSize]; /* the original text, whose spaces messages keep */
  char split[kLineSize];
  const char* all[kMaxWords];
} Line;

/* The original text of the line from word `first` to its end. */
static inline const char* rest_of(const Line* line, int first) {
  return first < line->count ? line->text + (line->words[first] - line->split) : "";
}

/* The whole script, which the caller frees; NULL, with the error set, if it cannot be read. */
static inline char* read_script(void) {
  const char* source = getenv("DEEPBENCH_FAKE_SCRIPT");
  if (!source) source = "";
  if (*source != '@') {
    char* copy = malloc(strlen(source) + 1);
    if (copy) strcpy(copy, source);
    return copy;
  }
  FILE* file = fopen(source + 1, "r");
  if (!file) {
    fail(DEEPBENCH_FAILED, "fake script: cannot open '%s'", source + 1);
    return NULL;
  }
  enum { kMaxScript = 1 << 18 };
  char* text = malloc(kMaxScript);
  const size_t size = text ? fread(text, 1, kMaxScript - 1, file) : 0;
  fclose(file);
  if (text) text[size] = '\0';
  return text;
}

/* Splits the next line that is not empty into words and advances `rest` behind it; false at the
 * end. Lines end at '\n' or ';'. */
static inline bool next_line(const char** rest, Line* line) {
  while (**rest) {
    const size_t length = strcspn(*rest, "\n;");
    const size_t copied = length < kLineSize - 1 ? length : kLineSize - 1;
    memcpy(line->text, *rest, copied);
    line->text[copied] = '\0';
    *rest += length;
    if (**rest) ++*rest;
    ++line->number;
    memcpy(line->split, line->text, kLineSize);
    int count = 0;
    char* state = NULL;
    for (char* word = strtok_r(line->split, " \t\r", &state); word && count < kMaxWords;
         word = strtok_r(NULL, " \t\r", &state))
      line->all[count++] = word;
    line->words = line->all;
    line->count = count;
    if (count && line->all[0][0] != '#') return true;
  }
  return false;
}

/* Consumes `when KEY=VALUE ...` and `from BATCH`; returns false if a condition does not hold. */
static inline bool conditions_hold(Line* line, const Context* context) {
  bool holds = true;
  int at = 0;
  if (at < line->count && strcmp(line->words[at], "when") == 0) {
    for (++at; at < line->count && strchr(line->words[at], '='); ++at) {
      const char* equals = strchr(line->words[at], '=');
      char name[kNameSize];
      snprintf(name, sizeof name, "%.*s", (int)(equals - line->words[at]), line->words[at]);
      holds = holds && strcmp(context_text(context, name), equals + 1) == 0;
    }
  }
  line->from = 0;
  if (at + 1 < line->count && strcmp(line->words[at], "from") == 0) {
    line->from = strtoull(line->words[at + 1], NULL, 10);
    at += 2;
  }
  line->words += at;
  line->count -= at;
  return holds && line->count > 0;
}

#endif /* FAKE_SCRIPT_H_ */
