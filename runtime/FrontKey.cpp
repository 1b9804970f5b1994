#include "runtime/FrontKey.h"

#include "llvm/Support/xxhash.h"

#include <array>
#include <bit>
#include <cstddef>

using namespace sectile;

static constexpr size_t scheduleWords = (sizeof(Schedule) + 7) / sizeof(uint64_t), headerWords = 2 + scheduleWords;
static_assert(std::has_unique_object_representations_v<Schedule>, "equal schedules have equal bytes");

/// Whether a view of legal rank is aligned as ArgumentFacts::aligned16 says.
static bool isAligned16(const ArrayView &view) {
  bool aligned = view.type <= Type::i1 && reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
  for (int d = 0; aligned && d < view.rank - 1; ++d)
    aligned = view.sizes[d] <= 1 || view.strides[d] % 16 * typeBytes(view.type) % 16 == 0;
  if (aligned && view.rank > 0)
    aligned = view.sizes[view.rank - 1] % 16 * typeBytes(view.type) % 16 == 0;
  return aligned;
}

/// Whether a view that is aligned and has unit stride can be mapped by TMA, as ArgumentFacts::bulk says. Sizes below
/// 2^32 are all that a launch accepts.
static bool isBulk(const ArrayView &view) {
  const int64_t most = ((int64_t{1} << 40) - 1) / typeBytes(view.type);
  bool bulk = view.rank >= 2 && view.rank <= 5;
  for (int d = 0; bulk && d < view.rank; ++d)
    bulk = view.sizes[d] == 1 || (view.sizes[d] > 1 && view.strides[d] > 0 && view.strides[d] <= most);
  return bulk;
}

FrontKey::Descriptor FrontKey::describe(const Argument &argument, Uses uses) {
  const auto *view = std::get_if<ArrayView>(&argument);
  if (!view)
    return {.kind = static_cast<uint16_t>(std::holds_alternative<float>(argument) ? Descriptor::f32 : Descriptor::i32)};
  // Ranks and types out of range are refused when the arguments are checked; here they only need to differ.
  const int rank = view->rank;
  const bool legal = rank >= 0 && rank <= ArrayView::maxRank;
  const bool unit = legal && rank > 0 && (view->strides[rank - 1] == 1 || view->sizes[rank - 1] <= 1);
  const bool aligned = uses.alignment && legal && isAligned16(*view);
  return {.kind = Descriptor::array,
          .type = static_cast<uint16_t>(std::min<unsigned>(static_cast<unsigned>(view->type), 15)),
          .rank = static_cast<uint16_t>(legal ? rank : 15),
          .unitStride = unit,
          .aligned16 = aligned,
          .bulk = uses.bulk && aligned && unit && isBulk(*view)};
}

FrontKey::FrontKey(const Session::Instance &kernel, std::span<const Argument> arguments, const Schedule &schedule,
                   Uses uses) {
  // 1. Sizes.
  const size_t descriptorWords = (arguments.size() + 3) / 4, configWords = (kernel.configBytes + 7) / 8;
  words.resize(headerWords + descriptorWords + configWords);
  // 2. Fields, in the order that the header documents.
  words[0] = reinterpret_cast<uintptr_t>(kernel.identity);
  words[1] = static_cast<uint64_t>(arguments.size()) << 32 | kernel.configBytes;
  std::memcpy(&words[2], &schedule, sizeof(Schedule));
  auto *descriptors = reinterpret_cast<char *>(words.data() + headerWords);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Descriptor descriptor = describe(arguments[i], uses);
    std::memcpy(descriptors + i * sizeof(Descriptor), &descriptor, sizeof(Descriptor));
  }
  if (kernel.configBytes)
    std::memcpy(words.data() + headerWords + descriptorWords, kernel.config, kernel.configBytes);
  // 3. The hash.
  hashed = llvm::xxh3_64bits({reinterpret_cast<const uint8_t *>(words.data()), words.size() * sizeof(uint64_t)});
}

FrontKey::Descriptor FrontKey::argument(size_t index) const {
  Descriptor descriptor;
  std::memcpy(&descriptor, reinterpret_cast<const char *>(words.data() + headerWords) + index * sizeof(Descriptor),
              sizeof(Descriptor));
  return descriptor;
}

Schedule FrontKey::schedule() const {
  std::array<std::byte, sizeof(Schedule)> bytes;
  std::memcpy(bytes.data(), &words[2], bytes.size());
  return std::bit_cast<Schedule>(bytes);
}

std::vector<ArgumentFacts> FrontKey::facts() const {
  std::vector<ArgumentFacts> result(argumentCount());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = {.unitStride = argument(i).unitStride != 0,
                 .aligned16 = argument(i).aligned16 != 0,
                 .bulk = argument(i).bulk != 0};
  return result;
}

std::string FrontKey::Descriptor::text() const {
  if (kind != array)
    return kind == f32 ? "f32" : "i32";
  return std::string(typeName(static_cast<Type>(type))) + " rank " + std::to_string(rank);
}

std::vector<std::string> FrontKey::differences(const FrontKey &from, const FrontKey &to,
                                               const std::vector<Parameter> &parameters) {
  std::vector<std::string> reasons;
  // 1. Configuration: opaque bytes.
  auto config = [](const FrontKey &key) {
    return llvm::ArrayRef<uint64_t>(key.words).drop_front(headerWords + (key.argumentCount() + 3) / 4);
  };
  if (from.configBytes() != to.configBytes() || config(from) != config(to))
    reasons.push_back("configuration differs");
  // 2. Arguments.
  if (from.argumentCount() != to.argumentCount()) {
    reasons.push_back("argument types differ: " + std::to_string(from.argumentCount()) + " arguments -> " +
                      std::to_string(to.argumentCount()));
  } else {
    std::string types, facts;
    for (size_t i = 0; i < to.argumentCount(); ++i) {
      const Descriptor before = from.argument(i), after = to.argument(i);
      const std::string name = i < parameters.size() ? parameters[i].name : '#' + std::to_string(i);
      if (!before.sameType(after)) {
        types += (types.empty() ? "" : ", ") + name + " " + before.text() + " -> " + after.text();
        continue;
      }
      auto compare = [&](const char *fact, unsigned was, unsigned is) {
        if (was != is)
          facts +=
              (facts.empty() ? "" : ", ") + name + ' ' + fact + ' ' + std::to_string(was) + " -> " + std::to_string(is);
      };
      compare("unit_stride", before.unitStride, after.unitStride);
      compare("aligned16", before.aligned16, after.aligned16);
      compare("bulk", before.bulk, after.bulk);
    }
    if (!types.empty())
      reasons.push_back("argument types differ: " + types);
    if (!facts.empty())
      reasons.push_back("argument facts differ: " + facts);
  }
  // 3. Schedule.
  if (from.schedule() != to.schedule()) {
    auto text = [](const Schedule &schedule) { return schedule == Schedule() ? "default" : toString(schedule); };
    reasons.push_back("schedule differs: " + text(from.schedule()) + " -> " + text(to.schedule()));
  }
  return reasons;
}
