// Converts text to named values, with the type that the text suggests, and back.
#include "named_values.hpp"

#include <cctype>
#include <cstdlib>
#include <sstream>

namespace deepbench::testing {

NamedValues::NamedValues(const std::string& pairs) {
  std::istringstream words(pairs);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    texts_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  for (const auto& [name, text] : texts_) {
    char* end = nullptr;
    const long long number = std::strtoll(text.c_str(), &end, 10);
    const bool is_integer = !text.empty() && *end == '\0';
    const double real = std::strtod(text.c_str(), &end);
    const bool is_real = !text.empty() && std::isdigit(text[0]) && *end == '\0';
    values_.push_back({name.c_str(),
                       is_integer ? DEEPBENCH_INTEGER
                       : is_real  ? DEEPBENCH_REAL
                                  : DEEPBENCH_TEXT,
                       is_integer ? number : 0, is_real ? real : 0, text.c_str()});
  }
}

deepbench_sink Emitted::sink() {
  return {this, [](void* context, const deepbench_value* value) {
            auto* emitted = static_cast<Emitted*>(context);
            std::ostringstream text;
            text.precision(17);
            if (value->kind == DEEPBENCH_TEXT)
              text << value->text;
            else if (value->kind == DEEPBENCH_REAL)
              text << value->real;
            else
              text << value->integer;
            emitted->values[value->name] = text.str();
            emitted->order.emplace_back(value->name, text.str());
          }};
}

}  // namespace deepbench::testing
