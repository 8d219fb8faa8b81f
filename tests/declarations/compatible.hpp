// Compares the signatures of two declarations of a C function: the number of arguments, the kind
// and size of each argument, and the types that pointers refer to. compare.py includes this file.
#pragma once

#include <cstddef>
#include <type_traits>

namespace declarations {

template <class T, class = void>
struct is_complete : std::false_type {};
template <class T>
struct is_complete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

template <class T>
constexpr bool is_whole = std::is_integral_v<T> || std::is_enum_v<T>;

template <class Ours, class Theirs>
constexpr bool are_compatible_types() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>)
    return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>)
    return are_compatible_types<std::remove_cv_t<std::remove_pointer_t<Ours>>,
                                std::remove_cv_t<std::remove_pointer_t<Theirs>>>();
  else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  else if constexpr (is_whole<Ours> && is_whole<Theirs>)
    return sizeof(Ours) == sizeof(Theirs);
  else if constexpr (std::is_floating_point_v<Ours> && std::is_floating_point_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs);
  else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>) {
    if constexpr (is_complete<Ours>::value && is_complete<Theirs>::value)
      return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
    else
      return true;  // an opaque handle
  } else
    return false;
}

template <class Ours, class Theirs>
struct IsSameCall : std::false_type {};

// Exception specifications do not affect the call of a C function.
template <class R, class... A, class S, class... B, bool kOurs, bool kTheirs>
struct IsSameCall<R (*)(A...) noexcept(kOurs), S (*)(B...) noexcept(kTheirs)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return are_compatible_types<R, S>() && (are_compatible_types<A, B>() && ...);
  }
  static constexpr bool value = compare();
};

template <class Ours, class Theirs>
constexpr bool same_call = IsSameCall<Ours, Theirs>::value;

constexpr bool same_text(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

}  // namespace declarations
