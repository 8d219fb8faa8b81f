// The limits that NVIDIA documents in its own front end.
#include "ops/attention/cudnn_limits.hpp"

#include <cstdio>

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

// Up to version 9.15.0, the library requires a padding mask if seq_kv is no multiple of 128, and
// earlier versions require sums that are cleared before each call. deepbench describes neither.
void require_gradients(const std::string& version) {
  int major = 0, minor = 0;
  std::sscanf(version.c_str(), "%d.%d", &major, &minor);
  if (major < 9 || (major == 9 && minor < 16))
    plugin::unsupported("deepbench describes attention's gradients to cuDNN 9.16 and later, not " +
                        version);
}

}  // namespace

void require_fused_attention(const Attention& attention, const std::string& version) {
  if (attention.has_sink)
    plugin::unsupported("deepbench has no description of attention with a sink to cuDNN");
  if (attention.is_backward) require_gradients(version);
  require_types(attention);
  require_sizes(attention);
  if (is_wrong_version(version))
    plugin::unsupported("cuDNN " + version +
                        " computes attention wrongly, by NVIDIA's own list; install cuDNN 9.10.2 "
                        "or later");
}

}  // namespace deepbench::cuda
