#include "runtime/Binding.h"

#include "sectile/Error.h"

#include <bit>
#include <limits>
#include <numeric>

using namespace sectile;

//===-- messages: off the hot path ------------------------------------------------------------------------------===//

static std::string list(const std::array<int64_t, ArrayView::maxRank> &values, int rank) {
  std::string text = "(";
  for (int d = 0; d < rank; ++d)
    text += (d ? ", " : "") + std::to_string(values[d]);
  return text + ")";
}

static std::string describe(const Parameter &parameter) {
  static constexpr const char *access[] = {"input", "output", "inout", "scalar"};
  std::string text =
      parameter.name + ": " + access[static_cast<int>(parameter.access)] + " " + std::string(typeName(parameter.type));
  return parameter.access == Parameter::Access::scalar ? text : text + " rank " + std::to_string(parameter.rank);
}

static std::string describe(const Argument &argument) {
  if (const auto *view = std::get_if<ArrayView>(&argument)) {
    std::string type(view->type <= Type::i1 ? typeName(view->type) : "unknown type");
    return "an array of " + type + " rank " + std::to_string(view->rank);
  }
  if (const auto *value = std::get_if<float>(&argument))
    return "the f32 number " + std::to_string(*value);
  return "the i32 number " + std::to_string(std::get<int32_t>(argument));
}

[[noreturn, gnu::cold, gnu::noinline]] static void refuse(const std::string &kernel, const Parameter &parameter,
                                                          const std::string &rule) {
  throw UserError("kernel '" + kernel + "': argument '" + parameter.name + "' " + rule);
}

[[noreturn, gnu::cold, gnu::noinline]] static void
refuseCount(const std::string &kernel, const std::vector<Parameter> &parameters, size_t actual) {
  std::string declared;
  for (const Parameter &parameter : parameters)
    declared += (declared.empty() ? "" : ", ") + describe(parameter);
  throw UserError("kernel '" + kernel + "' takes " + std::to_string(parameters.size()) + " arguments (" + declared +
                  "), got " + std::to_string(actual));
}

//===-- rules ---------------------------------------------------------------------------------------------------===//

/// Whether two different indices of these two dimensions meet: a*stride0 + b*stride1 == 0 for some a, b in range.
static bool dimensionsMeet(int64_t size0, int64_t stride0, int64_t size1, int64_t stride1) {
  const uint64_t s0 = stride0 < 0 ? -static_cast<uint64_t>(stride0) : stride0;
  const uint64_t s1 = stride1 < 0 ? -static_cast<uint64_t>(stride1) : stride1;
  const uint64_t divisor = std::gcd(s0, s1);
  return s1 / divisor < static_cast<uint64_t>(size0) && s0 / divisor < static_cast<uint64_t>(size1);
}

/// A written array must have one address an element, or programs would race.
static void checkWritten(const std::string &kernel, const Parameter &parameter, const ArrayView &view) {
  for (int d = 0; d < view.rank; ++d) {
    if (view.sizes[d] <= 1)
      continue;
    if (view.strides[d] == 0)
      refuse(kernel, parameter,
             "is written, so no dimension may repeat: dimension " + std::to_string(d) + " has size " +
                 std::to_string(view.sizes[d]) + " and stride 0 (sizes " + list(view.sizes, view.rank) + ", strides " +
                 list(view.strides, view.rank) + "); give it a stride or size 1");
    for (int e = 0; e < d; ++e)
      if (view.sizes[e] > 1 && dimensionsMeet(view.sizes[e], view.strides[e], view.sizes[d], view.strides[d]))
        refuse(kernel, parameter,
               "is written, so its elements may not share memory: dimensions " + std::to_string(e) + " and " +
                   std::to_string(d) + " of sizes " + list(view.sizes, view.rank) + " and strides " +
                   list(view.strides, view.rank) + " overlap");
  }
}

/// Whether each dimension steps over all smaller ones, as those of ordinary arrays do: cheap, and enough.
static bool nests(const ArrayView &view) {
  int64_t previousStride = std::numeric_limits<int64_t>::max();
  for (int d = 0; d < view.rank; ++d) {
    if (view.sizes[d] <= 1)
      continue;
    int64_t extent;
    if (view.strides[d] <= 0 || __builtin_mul_overflow(view.strides[d], view.sizes[d], &extent) ||
        extent > previousStride)
      return false;
    previousStride = view.strides[d];
  }
  return true;
}

static void checkShape(const std::string &kernel, const Parameter &parameter, const ArrayView &view, bool &empty,
                       __int128 &low, __int128 &high) {
  // 1. Sizes, and how far the elements reach to both sides, in elements.
  empty = false;
  low = high = 0;
  for (int d = 0; d < view.rank; ++d) {
    const int64_t size = view.sizes[d];
    if (size < 0 || size > ArrayView::maxSize)
      refuse(kernel, parameter,
             "has size " + std::to_string(size) + " in dimension " + std::to_string(d) + "; legal: 0 to " +
                 std::to_string(ArrayView::maxSize));
    empty |= size == 0;
    const __int128 reach = static_cast<__int128>(size - 1) * view.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  if (empty)
    return;
  // 2. Offsets in bytes fit 64 bits.
  const __int128 limit = std::numeric_limits<int64_t>::max() / typeBytes(view.type);
  if (high >= limit || -low >= limit)
    refuse(kernel, parameter,
           "reaches further than 2^63 bytes from its first element: sizes " + list(view.sizes, view.rank) +
               ", strides " + list(view.strides, view.rank) + " elements of " + std::to_string(typeBytes(view.type)) +
               " bytes");
  // 3. No element twice.
  if (parameter.access != Parameter::Access::input && !nests(view))
    checkWritten(kernel, parameter, view);
}

static void checkMemory(const std::string &kernel, const Parameter &parameter, const ArrayView &view, __int128 low,
                        __int128 high) {
  if (!view.data)
    refuse(kernel, parameter, "has no memory (data is null) for sizes " + list(view.sizes, view.rank));
  const int64_t bytes = typeBytes(view.type);
  const auto address = reinterpret_cast<uintptr_t>(view.data);
  if (address & static_cast<uintptr_t>(bytes - 1)) // a power of two: a division would cost as much as all else here
    refuse(kernel, parameter,
           "must be aligned to its element size of " + std::to_string(bytes) + " bytes, its address ends in " +
               std::to_string(address % 16) + " (mod 16)");
  if (static_cast<__int128>(address) + low * bytes < 0 ||
      static_cast<__int128>(address) + (high + 1) * bytes > static_cast<__int128>(UINT64_MAX))
    refuse(kernel, parameter,
           "reaches past the end of the address space: sizes " + list(view.sizes, view.rank) + ", strides " +
               list(view.strides, view.rank));
}

/// The one loop behind both functions of the header; `words` is null when memory does not matter.
static void checkAndPack(const std::string &kernel, const std::vector<Parameter> &parameters,
                         std::span<const Argument> arguments, ArgumentWords *words) {
  if (arguments.size() != parameters.size())
    refuseCount(kernel, parameters, arguments.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter &parameter = parameters[i];
    const Argument &argument = arguments[i];
    if (parameter.access == Parameter::Access::scalar) {
      if (parameter.type == Type::f32 ? !std::holds_alternative<float>(argument)
                                      : !std::holds_alternative<int32_t>(argument))
        refuse(kernel, parameter,
               "must be a number of type " + std::string(typeName(parameter.type)) + ", got " + describe(argument));
      if (words) {
        const auto bits = parameter.type == Type::f32 ? std::bit_cast<uint32_t>(std::get<float>(argument))
                                                      : std::bit_cast<uint32_t>(std::get<int32_t>(argument));
        words->push_back(bits);
      }
      continue;
    }
    const auto *view = std::get_if<ArrayView>(&argument);
    if (!view || view->type != parameter.type || view->rank != parameter.rank)
      refuse(kernel, parameter,
             "must be an array of " + std::string(typeName(parameter.type)) + " rank " +
                 std::to_string(parameter.rank) + ", got " + describe(argument));
    bool empty;
    __int128 low, high;
    checkShape(kernel, parameter, *view, empty, low, high);
    if (!words)
      continue;
    if (!empty)
      checkMemory(kernel, parameter, *view, low, high);
    words->push_back(reinterpret_cast<intptr_t>(view->data));
    words->append(view->sizes.begin(), view->sizes.begin() + view->rank);
    words->append(view->strides.begin(), view->strides.begin() + view->rank);
  }
}

void sectile::checkArguments(const std::string &kernel, const std::vector<Parameter> &parameters,
                             std::span<const Argument> arguments) {
  checkAndPack(kernel, parameters, arguments, nullptr);
}

void sectile::bindArguments(const std::string &kernel, const std::vector<Parameter> &parameters,
                            std::span<const Argument> arguments, ArgumentWords &words) {
  checkAndPack(kernel, parameters, arguments, &words);
}

bool sectile::checkGrid(std::string_view kernel, const Grid &grid) {
  const std::pair<const char *, int64_t> axes[] = {{"x", grid.x}, {"y", grid.y}, {"z", grid.z}};
  bool empty = false;
  __int128 programs = 1;
  for (auto [axis, size] : axes) {
    if (size < 0 || size > std::numeric_limits<int32_t>::max())
      throw UserError("kernel '" + std::string(kernel) + "': grid size " + axis + " is " + std::to_string(size) +
                      "; legal: 0 to 2147483647");
    empty |= size == 0;
    programs *= size;
  }
  if (!empty && programs > std::numeric_limits<int64_t>::max())
    throw UserError("kernel '" + std::string(kernel) + "': grid " + std::to_string(grid.x) + " x " +
                    std::to_string(grid.y) + " x " + std::to_string(grid.z) + " has more than 2^63-1 programs");
  return !empty;
}
