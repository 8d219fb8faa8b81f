/* The script of the fake backend as text: where it comes from, its lines, and which of them are in
 * force for a problem. What the lines mean is scenario.h's. The language is described in
 * fake_backend.c.
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
static _Thread_local bool fake_error_is_null; /* scripted: a contract that is not kept */

static inline deepbench_status fail(deepbench_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fake_error, sizeof fake_error, format, arguments);
  va_end(arguments);
  fake_error_is_null = false;
  return status;
}

static inline const char* fake_last_error(void) { return fake_error_is_null ? NULL : fake_error; }

/* ---- what conditions are compared with ------------------------------------------------------- */

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
  int at = 0;
  while (at < context->count && strcmp(context->names[at], name) != 0) ++at;
  if (at == kMaxFacts) return;
  if (at == context->count) ++context->count;
  snprintf(context->names[at], kNameSize, "%s", name);
  snprintf(context->texts[at], kNameSize, "%s", text);
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
  uint64_t from; /* first batch for which it holds */
  int count;     /* words after the conditions: the verb and its arguments */
  const char** words;
  char text[kLineSize]; /* as written, so that a message keeps its spaces */
  char split[kLineSize];
  const char* all[kMaxWords];
} Line;

/* The line from word `at` to its end, as written. */
static inline const char* rest_of(const Line* line, int at) {
  return at < line->count ? line->text + (line->words[at] - line->split) : "";
}

/* The whole script, to be freed by the caller; NULL with the error set. */
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
  enum { kMost = 1 << 18 };
  char* text = malloc(kMost);
  const size_t size = text ? fread(text, 1, kMost - 1, file) : 0;
  fclose(file);
  if (text) text[size] = '\0';
  return text;
}

/* Splits the next line that is not empty into words; false at the end. Lines end at '\n' or ';'. */
static inline bool next_line(const char** at, Line* line) {
  while (**at) {
    const size_t length = strcspn(*at, "\n;");
    const size_t kept = length < kLineSize - 1 ? length : kLineSize - 1;
    memcpy(line->text, *at, kept);
    line->text[kept] = '\0';
    *at += length;
    if (**at) ++*at;
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

/* Takes `when KEY=VALUE ...` and `from BATCH` off the front; false where a condition fails. */
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
