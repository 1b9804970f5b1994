// The tile language: what a kernel computes. Values are immutable tiles; no threads, no memory spaces.
//
// A kernel is an ordinary C++ function that runs once and is *traced*: each operator below adds one operation to
// the kernel's IR, with the C++ source line it stands on. A host `if` therefore specializes the kernel; a loop over
// `Trace::range` is traced once and repeats at run time; `Var` holds what changes from one pass to the next.
//
//   for (const Tile j : t.range(0, blocks)) {   // traced once
//     const Tile x = view.load({j * 64}, {64});
//     sum = sum + x;                            // `Var sum` becomes a carried value of the loop
//   }
//
// Shapes are known at trace time. A tile of rank 0 is a scalar. Elementwise operations broadcast as numpy does: missing
// leading dimensions and dimensions of size 1 stretch. Element types never mix silently: a C++ number takes
// the type of the tile beside it, everything else wants a `cast`. Rules that are broken throw
// `UserError` with the source line: "Flash.cpp:41: error: 'dot' needs [m,k] x [k,n], got [128,64] x [128,64]".
#pragma once

#include "sectile/Type.h"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <vector>

namespace sectile {
class Trace;
namespace dsl {
class Recorder; // builds the IR; these are defined inside the compiler
struct Value;
struct Argument;
} // namespace dsl

namespace tile {

class Var;
using Where = std::source_location;
using Shape = std::vector<int64_t>;

/// An immutable tile of values: a scalar, a vector, a matrix … of one element type. Cheap to copy.
class Tile {
public:
  Tile(const Tile &) = default;
  /// Reads the present value of a variable.
  Tile(const Var &var);
  Tile &operator=(const Tile &) = delete;  // tiles never change: use a Var
  explicit operator bool() const = delete; // not known while tracing: use select() or Trace::when()

  Type type() const;
  const Shape &shape() const;
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }

private:
  friend class dsl::Recorder;
  Tile(dsl::Recorder *recorder, const dsl::Value *value) : recorder(recorder), value(value) {}
  dsl::Recorder *recorder;
  const dsl::Value *value;
};

/// A variable: the only mutable thing. Holds tiles of one shape and type, given by its initial value. When it lives
/// outside a traced loop or condition and is assigned inside, it becomes a carried value of it.
class Var {
public:
  Var(const Tile &initial, Where where = Where::current());
  Var(const Var &) = delete; // two names for one variable would hide data flow: copy its Tile
  ~Var();
  Var &operator=(const Tile &value);
  Var &operator=(const Var &value) { return *this = Tile(value); }
  explicit operator bool() const = delete;

private:
  friend class dsl::Recorder;
  friend class Tile;
  dsl::Recorder *recorder;
  const dsl::Value *value;
  Where where;
};

/// An operand of the operators below: a tile, a variable or a C++ number, with the source line it came from.
class Operand {
public:
  Operand(const Tile &tile, Where where = Where::current()) : kind(Kind::tile), tile(&tile), where(where) {}
  Operand(const Var &var, Where where = Where::current()) : kind(Kind::var), var(&var), where(where) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  Operand(I number, Where where = Where::current())
      : kind(Kind::integer), integer(static_cast<int64_t>(number)), where(where) {}
  template <std::floating_point F>
  Operand(F number, Where where = Where::current())
      : kind(Kind::real), real(static_cast<double>(number)), where(where) {}

private:
  friend class dsl::Recorder;
  enum class Kind : uint8_t { tile, var, integer, real } kind;
  union {
    const Tile *tile;
    const Var *var;
    int64_t integer;
    double real;
  };
  Where where;
};

// --- elementwise arithmetic: f32, f16, bf16 (each operation rounds to the type) and i32 (wraps around) ---------------
Tile operator+(Operand a, Operand b);
Tile operator-(Operand a, Operand b);
Tile operator*(Operand a, Operand b);
Tile operator/(Operand a, Operand b); ///< floating point only: integers say floorDiv or ceilDiv
Tile operator-(Operand a);
/// The smaller / larger one; when one is NaN, the other. i32: signed.
Tile min(Operand a, Operand b);
Tile max(Operand a, Operand b);
Tile abs(Operand a);
/// i32, signed, divisor not 0: the quotient rounded down / up, and the remainder that goes with floorDiv.
Tile floorDiv(Operand a, Operand b);
Tile ceilDiv(Operand a, Operand b);
Tile floorMod(Operand a, Operand b);
/// i32 as unsigned: the high 32 bits of the product; logical shifts (a shift by 32 or more is undefined).
Tile mulHigh(Operand a, Operand b);
Tile operator<<(Operand a, Operand b);
Tile operator>>(Operand a, Operand b);
// i32 bitwise, i1 logical.
Tile operator&(Operand a, Operand b);
Tile operator|(Operand a, Operand b);
Tile operator^(Operand a, Operand b);
Tile operator~(Operand a);

// --- comparisons give i1; i32 compares as signed; false when an operand is NaN, but `!=` is true ---------------------
Tile operator<(Operand a, Operand b);
Tile operator<=(Operand a, Operand b);
Tile operator>(Operand a, Operand b);
Tile operator>=(Operand a, Operand b);
Tile operator==(Operand a, Operand b);
Tile operator!=(Operand a, Operand b);
/// `condition ? a : b`, element by element.
Tile select(Operand condition, Operand a, Operand b);

// --- elementary functions, f32 only; targets are within 4 ulp (tanh 8 ulp) of the exact value; where that is below the
// smallest normal number, 2^-126, the result may be anything from 0 to there --------------------------------------
Tile exp2(Operand a);
Tile exp(Operand a);
Tile log2(Operand a);
Tile log(Operand a);
Tile tanh(Operand a);
Tile sqrt(Operand a);
/// 1 / a: on a GPU one instruction where a division takes ten. Of subnormal numbers it may be infinite.
Tile reciprocal(Operand a);

/// Converts to `type`. Floats round to nearest even; f8 saturates (Type.h); float to i32 truncates toward zero and
/// saturates, NaN gives 0; i1 becomes 0 or 1; a number becomes i1 by `!= 0`.
Tile cast(Operand a, Type type);

// --- shape ----------------------------------------------------------------------------------------------------------
Tile broadcast(Operand a, const Shape &shape);
/// The same elements in row-major order under another shape with as many elements.
Tile reshape(Operand a, const Shape &shape);
/// Result dimension i is dimension order[i] of `a`; without an order: swaps the last two.
Tile transpose(Operand a, std::initializer_list<int> order = {});
Tile row(Operand a);    ///< [n] -> [1, n]
Tile column(Operand a); ///< [n] -> [n, 1]

// --- reductions keep the reduced dimension with size 1; sums of f16/bf16 are accumulated in f32 ----------------------
Tile reduceMax(Operand a, int axis); ///< passes over NaN; when all are: -infinity (reduceMin: +infinity)
Tile reduceMin(Operand a, int axis);
Tile reduceSum(Operand a, int axis);                        ///< in any order
inline Tile maxRows(Operand a) { return reduceMax(a, -1); } ///< [m, n] -> [m, 1]
inline Tile minRows(Operand a) { return reduceMin(a, -1); }
inline Tile sumRows(Operand a) { return reduceSum(a, -1); }

/// Matrix product [m,k] x [k,n] (+ accumulator [m,n], f32). Floats of one type or of different ones; products
/// and sums are in f32, in any order. The result is f32.
Tile dot(Operand a, Operand b);
Tile dot(Operand a, Operand b, Operand accumulator);

/// An argument of the kernel: an array in memory with sizes and strides known at run time. Indexed in elements,
/// one i32 index a dimension; a tile of rank r covers the last r dimensions from there on.
class View {
public:
  /// Reads a tile. Elements outside the array read as zero, or as `padding` where it is given.
  Tile load(std::initializer_list<Operand> index, const Shape &shape, Where where = Where::current()) const;
  Tile load(std::initializer_list<Operand> index, const Shape &shape, double padding,
            Where where = Where::current()) const;
  /// Writes a tile; elements outside the array are dropped. The tile has the view's element type.
  void store(std::initializer_list<Operand> index, Operand tile, Where where = Where::current()) const;
  /// Adds to memory, each element atomically (f32 and i32).
  void atomicAdd(std::initializer_list<Operand> index, Operand tile, Where where = Where::current()) const;
  /// The size of a dimension, an i32 scalar known at run time.
  Tile dim(int axis, Where where = Where::current()) const;
  Type type() const;
  int64_t rank() const;

private:
  friend class dsl::Recorder;
  View(dsl::Recorder *recorder, const dsl::Argument *argument) : recorder(recorder), argument(argument) {}
  dsl::Recorder *recorder;
  const dsl::Argument *argument;
};

} // namespace tile
} // namespace sectile
