// The context in which a kernel function is traced: its arguments, its grid, its loops.
#pragma once

#include "sectile/Schedule.h"
#include "sectile/Tile.h"

#include <iterator>
#include <memory>
#include <string_view>

namespace sectile {
namespace dsl {
struct Loop;
}

/// Handed to a kernel function; declares arguments in the order in which a launch passes them.
class Trace {
public:
  Trace(const Trace &) = delete;
  ~Trace();

  // --- arguments; names are unique identifiers ---
  tile::View input(std::string_view name, Type type, int rank, tile::Where where = tile::Where::current());
  tile::View output(std::string_view name, Type type, int rank, tile::Where where = tile::Where::current());
  tile::View inout(std::string_view name, Type type, int rank, tile::Where where = tile::Where::current());
  /// A number known only at run time (f32 or i32). Captured C++ numbers become literals, and so another kernel.
  tile::Tile scalar(std::string_view name, Type type = Type::f32, tile::Where where = tile::Where::current());

  /// The index of this program in the grid, axis 0, 1 or 2: an i32 scalar. Programs run in any order.
  tile::Tile program(int axis, tile::Where where = tile::Where::current());

  /// 0, 1, …, n-1 as i32.
  tile::Tile iota(int64_t n, tile::Where where = tile::Where::current());
  tile::Tile full(double value, const tile::Shape &shape, Type type = Type::f32,
                  tile::Where where = tile::Where::current());

  class Range;
  /// begin, begin+step, … below end, as i32 scalars; step > 0 is a C++ number. The body is traced once.
  /// `break`, `return` and `goto` out of it are reported as errors.
  Range range(tile::Operand begin, tile::Operand end, int64_t step = 1, tile::Where where = tile::Where::current());

  /// Runs `then` (else `otherwise`) at run time when the i1 scalar holds; variables assigned inside carry out.
  template <class Then> void when(tile::Operand condition, Then &&then) {
    beginWhen(condition);
    then();
    endWhen();
  }
  template <class Then, class Otherwise> void when(tile::Operand condition, Then &&then, Otherwise &&otherwise) {
    beginWhen(condition);
    then();
    beginOtherwise();
    otherwise();
    endWhen();
  }

  /// The schedule this kernel is traced for, every field set.
  const Schedule &schedule() const;

private:
  friend class dsl::Recorder;
  explicit Trace(dsl::Recorder &recorder) : recorder(recorder) {}
  void beginWhen(tile::Operand condition);
  void beginOtherwise();
  void endWhen();
  dsl::Recorder &recorder;
};

/// What a range-for over Trace::range iterates: exactly one pass, on which the body is traced.
class Trace::Range {
public:
  class Iterator {
  public:
    tile::Tile operator*() const;
    Iterator &operator++();
    bool operator!=(const Iterator &end) const;

  private:
    friend class Range;
    explicit Iterator(Range *range) : range(range) {}
    Range *range; // null: past the end
  };
  Range(const Range &) = delete;
  ~Range();
  Iterator begin();
  Iterator end();

private:
  friend class dsl::Recorder;
  Range(dsl::Recorder &recorder, dsl::Loop &loop) : recorder(recorder), loop(loop) {}
  dsl::Recorder &recorder;
  dsl::Loop &loop;
};

} // namespace sectile
