// Declares one function for each group of bindings. module.cpp calls them all.
#pragma once

#include <pybind11/pybind11.h>

void bind_assessment(pybind11::module_& module);
void bind_group(pybind11::module_& module);
void bind_operation(pybind11::module_& module);
void bind_problem(pybind11::module_& module);
void bind_row(pybind11::module_& module);
void bind_runner(pybind11::module_& module);
