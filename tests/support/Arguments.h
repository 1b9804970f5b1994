// The arguments of a launch as the words that compiled kernels read (HostEntry in compiler/Compiler.h).
#pragma once

#include "sectile/Session.h"

#include <bit>
#include <span>

namespace sectile::test {

inline std::vector<int64_t> packArguments(std::span<const Argument> arguments) {
  std::vector<int64_t> words;
  for (const Argument &argument : arguments) {
    if (const auto *view = std::get_if<ArrayView>(&argument)) {
      words.push_back(reinterpret_cast<int64_t>(view->data));
      words.insert(words.end(), view->sizes.begin(), view->sizes.begin() + view->rank);
      words.insert(words.end(), view->strides.begin(), view->strides.begin() + view->rank);
    } else if (const auto *real = std::get_if<float>(&argument)) {
      words.push_back(std::bit_cast<uint32_t>(*real));
    } else {
      words.push_back(static_cast<uint32_t>(std::get<int32_t>(argument)));
    }
  }
  return words;
}

} // namespace sectile::test
