// What finds an executable on every call, without tracing, hashing strings or allocating.
//
// Two launches with equal front keys trace the same kernel with the same configuration, schedule and guarantees about
// their arguments, and therefore run the same code. The converse does not hold: the content key decides then.
#pragma once

#include "compiler/dsl/TracedKernel.h"
#include "sectile/Session.h"

#include "llvm/ADT/SmallVector.h"

namespace sectile {

class FrontKey {
public:
  /// Which facts about its arguments a target's code makes use of, beside unit strides; arrays are not told apart by
  /// others.
  struct Uses {
    bool alignment = false; ///< ArgumentFacts::aligned16
    bool bulk = false;      ///< ArgumentFacts::bulk, which needs the alignment
  };
  FrontKey(const Session::Instance &kernel, std::span<const Argument> arguments, const Schedule &schedule, Uses uses);

  uint64_t hash() const { return hashed; }
  /// Compares all of it, not only the hash.
  bool operator==(const FrontKey &other) const { return hashed == other.hashed && words == other.words; }

  const void *identity() const { return reinterpret_cast<const void *>(words[0]); }
  /// What launches under this key guarantee, by argument position.
  std::vector<ArgumentFacts> facts() const;

  /// What tells two keys of one kernel apart: "schedule differs: blockM=32 -> blockM=64", one string a reason.
  /// `parameters` name the arguments of `to`.
  static std::vector<std::string> differences(const FrontKey &from, const FrontKey &to,
                                              const std::vector<Parameter> &parameters);

private:
  /// One argument in 16 bits.
  struct Descriptor {
    enum Kind : uint16_t { array, f32, i32 };
    uint16_t kind : 2, type : 4 = 0, rank : 4 = 0, unitStride : 1 = 0, aligned16 : 1 = 0, bulk : 1 = 0, unused : 3 = 0;
    bool sameType(const Descriptor &other) const {
      return kind == other.kind && type == other.type && rank == other.rank;
    }
    std::string text() const;
  };
  static_assert(sizeof(Descriptor) == 2);
  static Descriptor describe(const Argument &argument, Uses uses);

  size_t argumentCount() const { return words[1] >> 32; }
  size_t configBytes() const { return words[1] & 0xffffffff; }
  Descriptor argument(size_t index) const;
  Schedule schedule() const;

  // identity | argument count, config bytes | schedule | descriptors, four a word | config, padded with zeros
  llvm::SmallVector<uint64_t, 49> words;
  uint64_t hashed;
};

} // namespace sectile
