// Formats and parses engines.
#include "cudnn/engine.hpp"

#include <charconv>

namespace deepbench::cuda::dnn {
namespace {

constexpr std::string_view kEngineWord = "eng", kKnobWord = "_k";

bool consume_word(std::string_view& text, std::string_view word) {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

bool consume_number(std::string_view& text, int64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc()) return false;
  text.remove_prefix(size_t(end - text.data()));
  return true;
}

}  // namespace

std::string Engine::text() const {
  std::string text = std::string(kEngineWord) + std::to_string(index);
  for (const auto& [type, choice] : knobs)
    text += std::string(kKnobWord) + std::to_string(type) + "=" + std::to_string(choice);
  return text;
}

bool parse_engine(std::string_view text, Engine* engine) {
  const std::string_view whole = text;
  *engine = {};
  if (!consume_word(text, kEngineWord) || !consume_number(text, &engine->index)) return false;
  while (!text.empty()) {
    std::pair<int64_t, int64_t> knob;
    if (!consume_word(text, kKnobWord) || !consume_number(text, &knob.first) ||
        !consume_word(text, "=") || !consume_number(text, &knob.second))
      return false;
    engine->knobs.push_back(knob);
  }
  return engine->index >= 0 && engine->text() == whole;
}

}  // namespace deepbench::cuda::dnn
