// Sets the scales of oneDNN's 8-bit layers. They are powers of two, so that quantizing the integers
// of fill.h is exact.
#include "ops/rnn/onednn_int8.hpp"

#include <algorithm>

#include "onednn/primitive_call.hpp"
#include "ops/rnn/onednn_plan.hpp"

namespace deepbench::cpu::onednn {
namespace {

constexpr float kShift = 128;  // Shifts signed states into the range of U8.

}  // namespace

deepbench_type int8_weight_type() {
  return Api::instance().has_exact_int8() ? DEEPBENCH_S8 : DEEPBENCH_S7;
}

void set_scales(const Rnn& rnn, dnnl_primitive_attr_t attributes) {
  const Api& api = Api::instance();
  const auto scale = float(rnn.weights_scale(int8_weight_type()));
  api.check(api.primitive_attr_set_rnn_data_qparams_f(attributes, float(Rnn::kDataScale), kShift),
            "setting the scale of the states");
  api.check(api.primitive_attr_set_rnn_weights_qparams_f(attributes, 1, 0, &scale),
            "setting the scale of the weights");
}

std::vector<double> quantize(const Rnn& rnn, int64_t columns, void* from,
                             const_dnnl_memory_desc_t to_description, void* to, int times) {
  const Api& api = Api::instance();
  dnnl_primitive_attr_t scales = nullptr;
  api.check(api.primitive_attr_create_f(&scales), "creating attributes");
  const Attributes attributes(scales);
  set_scales(rnn, scales);
  const MemoryDesc plain = problem_weights(rnn, columns, dnnl_f32);
  const MemoryDesc transposed = transposed_weights(rnn, columns, dnnl_f32);
  const Buffer room(api.memory_desc_get_size_f(transposed.get()));
  std::vector<double> both = reorder(plain.get(), from, transposed.get(), room.data(), times);
  const std::vector<double> second =
      reorder(transposed.get(), room.data(), to_description, to, times, scales);
  both.resize(std::min(both.size(), second.size()));
  for (size_t i = 0; i < both.size(); ++i) both[i] += second[i];
  return both;
}

}  // namespace deepbench::cpu::onednn
