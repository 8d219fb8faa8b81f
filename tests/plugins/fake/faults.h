/* The faults that a script injects into a slot of the fake backend: crashes, hangs, failures.
 */
#ifndef FAKE_FAULTS_H_
#define FAKE_FAULTS_H_

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"

static inline void write_log(const Scenario* scenario, Slot slot, const char* details) {
  FILE* file = *scenario->log ? fopen(scenario->log, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s%s\n", kSlotNames[slot], details);
  fclose(file);
}

static inline void sleep_ms(int milliseconds) {
  const struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  nanosleep(&time, NULL);
}

/* Forks once; both processes return. */
static inline void fork_once(void) {
  static bool forked;
  if (forked) return;
  forked = true;
  if (fork() < 0) abort();
}

/* Crashes; a forked process stays, which holds all descriptors open. */
static inline void crash_with_orphan(void) {
  if (fork() == 0)
    for (;;) sleep_ms(1000);
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}

/* Closes all descriptors but standard error. */
static inline void close_descriptors(void) {
  for (int descriptor = 0; descriptor < 256; ++descriptor)
    if (descriptor != STDERR_FILENO) close(descriptor);
}

/* Prints a row that was not measured on standard output. */
static inline void print_row(void) {
  puts("{\"type\": \"row\", \"position\": 1}");
  fflush(stdout);
}

/* Reads a part of standard input, which may wait for it. */
static inline void read_input(void) {
  char bytes[1 << 12];
  if (read(STDIN_FILENO, bytes, sizeof bytes) < 0) abort();
}

static inline deepbench_status inject_fault(const Fault* fault) {
  switch (fault->kind) {
    case kCrash:
      signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
      break;
    case kAbort:
      abort();
    case kHang:
      for (;;) sleep_ms(1000);
    case kKilled: /* as the kernel's out-of-memory killer does */
      raise(SIGKILL);
      break;
    case kExit: /* as some libraries do */
      exit(fault->status);
    case kSleep:
      sleep_ms(fault->status);
      return DEEPBENCH_OK;
    case kFork:
      fork_once();
      return DEEPBENCH_OK;
    case kClose:
      close_descriptors();
      return DEEPBENCH_OK;
    case kPrintRow:
      print_row();
      return DEEPBENCH_OK;
    case kReadInput:
      read_input();
      return DEEPBENCH_OK;
    case kOrphan:
      crash_with_orphan();
      break;
    case kFail:
      fail(DEEPBENCH_FAILED, "%s", fault->message);
      fake_error_is_null = strcmp(fault->message, "null") == 0;
      return (deepbench_status)fault->status;
  }
  return DEEPBENCH_FAILED;
}

/* Logs a call of `slot` and injects its scripted faults, ahead of the slot's work. */
static inline deepbench_status enter_slot(const Scenario* scenario, Slot slot,
                                          const char* details) {
  write_log(scenario, slot, details);
  deepbench_status status = DEEPBENCH_OK;
  for (int i = 0; i < scenario->fault_count && status == DEEPBENCH_OK; ++i)
    if (scenario->faults[i].slot == slot) status = inject_fault(&scenario->faults[i]);
  return status;
}

#endif /* FAKE_FAULTS_H_ */
