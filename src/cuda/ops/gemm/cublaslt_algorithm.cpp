// Formats and parses the ids of candidates.
#include "ops/gemm/cublaslt_algorithm.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace deepbench::cuda::lt {
namespace {

struct Field {
  std::string_view name;
  uint32_t Algorithm::*value;
};

constexpr std::array<Field, 9> kFields = {{{"id", &Algorithm::id},
                                           {"tile", &Algorithm::tile},
                                           {"stages", &Algorithm::stages},
                                           {"splitk", &Algorithm::split_k},
                                           {"reduction", &Algorithm::reduction},
                                           {"swizzle", &Algorithm::swizzle},
                                           {"custom", &Algorithm::custom},
                                           {"inner", &Algorithm::inner},
                                           {"cluster", &Algorithm::cluster}}};

constexpr uint32_t kMaxHeuristicIndex = 1 << 20;

// For some algorithms, the library's heuristics set split-k to -1, which lets the algorithm choose.
std::string split_text(uint32_t split) {
  return split > uint32_t(std::numeric_limits<int32_t>::max()) ? "by the library"
                                                               : std::to_string(split);
}

bool read_number(std::string_view text, uint32_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// Parses "id=66,tile=23,...". Each name may occur only once and in this order, so that an algorithm
// has only one id.
bool parse_algorithm(std::string_view text, Algorithm* algorithm) {
  size_t next_field = 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view pair = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return false;
    while (next_field < kFields.size() && kFields[next_field].name != pair.substr(0, equals))
      ++next_field;
    if (next_field == kFields.size()) return false;
    if (!read_number(pair.substr(equals + 1), &(algorithm->*kFields[next_field].value)))
      return false;
    ++next_field;
  }
  return true;
}

}  // namespace

std::string Algorithm::str() const {
  const Algorithm standard;
  std::string out;
  for (const Field& field : kFields) {
    if (field.name != "id" && this->*field.value == standard.*field.value) continue;
    out += (out.empty() ? "" : ",") + std::string(field.name) + "=" +
           std::to_string(this->*field.value);
  }
  return out;
}

std::string Algorithm::text() const {
  std::string out = "algorithm " + std::to_string(id);
  if (tile) out += ", tile " + tile_name(tile);
  if (stages) out += ", stages " + stages_name(stages);
  if (cluster) out += ", cluster " + cluster_name(cluster);
  if (split_k != 1) out += ", split-k " + split_text(split_k);
  if (reduction) out += ", reduction " + std::to_string(reduction);
  if (swizzle) out += ", swizzle " + std::to_string(swizzle);
  if (custom) out += ", custom " + std::to_string(custom);
  if (inner) out += ", inner shape " + std::to_string(inner);
  return out;
}

std::string Candidate::str() const {
  if (heuristic >= 0) return layout + ":heuristic=" + std::to_string(heuristic);
  return layout + ":" + algorithm.str();
}

bool parse_candidate(std::string_view text, Candidate* candidate) {
  constexpr std::string_view kHeuristic = "heuristic=";
  const size_t colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == text.size()) return false;
  candidate->layout = std::string(text.substr(0, colon));
  text.remove_prefix(colon + 1);
  if (text.substr(0, kHeuristic.size()) == kHeuristic) {
    uint32_t place = 0;
    if (!read_number(text.substr(kHeuristic.size()), &place) || place > kMaxHeuristicIndex)
      return false;
    candidate->heuristic = int(place);
    return true;
  }
  return text.substr(0, 3) == "id=" && parse_algorithm(text, &candidate->algorithm);
}

}  // namespace deepbench::cuda::lt
