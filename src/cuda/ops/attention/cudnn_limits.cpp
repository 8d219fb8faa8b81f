// The limits that NVIDIA documents with its own front end.
#include "ops/attention/cudnn_limits.hpp"

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

constexpr int64_t kDimUnit = 8;

bool is_wrong_version(const std::string& version) {
  for (const std::string wrong : {"9.10.0", "9.10.1"})
    if (version == wrong || version.rfind(wrong + ".", 0) == 0) return true;
  return false;
}

void require_types(const Attention& attention) {
  const Precision precision = attention.precision.precision;
  if (precision != Precision::kHalf && precision != Precision::kBfloat16)
    plugin::unsupported("cuDNN's fused attention computes in half and bfloat16, not in " +
                        std::string(attention.precision.name));
}

void require_sizes(const Attention& attention) {
  if (attention.dim % kDimUnit || attention.dim_v % kDimUnit)
    plugin::unsupported("cuDNN's fused attention needs a dim and a dim_v that are multiples of 8");
  if (attention.seq_q == 1 && attention.seq_kv == 1)
    plugin::unsupported("cuDNN's fused attention does not support one query with one key");
  const bool has_empty_rows = attention.mask == AttentionMask::kBottomRight || attention.window > 0;
  if (has_empty_rows && attention.seq_q > attention.seq_kv)
    plugin::unsupported(
        "cuDNN's fused attention does not support queries that see no key: seq_q exceeds seq_kv");
}

void require_forward(const Attention& attention) {
  if (attention.is_backward)
    plugin::unsupported("deepbench has no description of attention's gradients to cuDNN");
  if (attention.has_sink)
    plugin::unsupported("deepbench has no description of attention with a sink to cuDNN");
}

}  // namespace

void require_fused_attention(const Attention& attention, const std::string& version) {
  require_forward(attention);
  require_types(attention);
  require_sizes(attention);
  if (is_wrong_version(version))
    plugin::unsupported("cuDNN " + version +
                        " computes attention wrongly, by NVIDIA's own list; install cuDNN 9.10.2 "
                        "or later");
}

}  // namespace deepbench::cuda
