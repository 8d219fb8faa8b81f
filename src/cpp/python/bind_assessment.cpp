// Binds assess(): the bound of a row from figures in a result file.
#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "bindings.hpp"
#include "deepbench/run/row/assess.hpp"

namespace py = pybind11;

namespace {

// None for zero, which stands for "unknown".
py::object known(double figure) { return figure > 0 ? py::object(py::float_(figure)) : py::none(); }

py::object text_or_none(const std::string& text) {
  return text.empty() ? py::object(py::none()) : py::object(py::str(text));
}

py::dict assess(double flops, double bytes, double median_ns, const std::string& level,
                std::optional<double> arithmetic_tflops, std::optional<double> memory_gbps,
                std::optional<double> latency_ns, double transform_factor, double steps,
                std::optional<double> step_ns) {
  if (!(median_ns > 0)) throw py::value_error("median_ns must be more than 0");
  if (!(transform_factor >= 1)) throw py::value_error("transform_factor must be at least 1");
  deepbench::RowCeilings ceilings;
  ceilings.level.name = level;
  ceilings.flops_per_s = arithmetic_tflops.value_or(0) * 1e12;
  ceilings.bytes_per_s = memory_gbps.value_or(0) * 1e9;
  ceilings.latency_ns = latency_ns.value_or(0);
  ceilings.step_ns = step_ns.value_or(0);
  const deepbench::Bound bound =
      deepbench::assess({flops, bytes, transform_factor, steps}, median_ns, ceilings).bound;
  py::dict out;
  out["by"] = text_or_none(bound.by);
  out["arithmetic_tflops"] = arithmetic_tflops;
  out["memory_gbps"] = memory_gbps;
  out["latency_ns"] = latency_ns;
  out["step_ns"] = step_ns;
  out["share_arithmetic"] = known(bound.share_arithmetic);
  out["share_roofline"] = known(bound.missing.empty() ? bound.share_roofline : 0);
  return out;
}

}  // namespace

void bind_assessment(py::module_& module) {
  module.def("assess", &assess, py::arg("flops"), py::arg("bytes"), py::arg("median_ns"),
             py::arg("level"), py::arg("arithmetic_tflops"), py::arg("memory_gbps"),
             py::arg("latency_ns"), py::arg("transform_factor") = 1.0, py::arg("steps") = 0.0,
             py::arg("step_ns") = py::none(),
             "What bounds a row with this work and time, and its shares of the ceilings: the "
             "members `by`, the four figures, `share_arithmetic` and `share_roofline`. A ceiling "
             "that is None is unknown. One operation of the algorithm replaces at most "
             "`transform_factor` of the `flops`, and `steps` follow one another.");
}
