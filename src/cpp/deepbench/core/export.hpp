// DEEPBENCH_API marks the symbols that the shared library exports; all others are hidden.
#pragma once

#if defined(_WIN32)
#define DEEPBENCH_API __declspec(dllexport)
#else
#define DEEPBENCH_API __attribute__((visibility("default")))
#endif
