// Records what a kernel function does as tile IR: the other side of the public classes Tile, Var, View and Trace.
//
// Every public function is one Call: it checks its operands, adds operations and wraps the result.
//
//   Tile tile::exp2(Operand a) {
//     Call call("exp2", {a});
//     …                                        // call.fail("takes f32, got bf16") throws UserError with the source
//     line return call.result(math::Exp2Op::create(call.builder(), call.loc(), …));
//   }
//
// A traced body (of a loop or a condition) is a Scope. Values are stamped with the scope that was open when they were
// made, and may be used only while it is open.
#pragma once

#include "compiler/dsl/TracedKernel.h"
#include "compiler/ir/Tile.h"
#include "sectile/Array.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <deque>
#include <limits>
#include <optional>

namespace sectile::dsl {
using tile::Operand;
using tile::Shape;
using tile::Tile;
using tile::Var;
using tile::View;
using tile::Where;

/// What a Tile or Var stands for. Lives as long as the recorder.
struct Value {
  mlir::Value ir; ///< a scalar or a tensor of rank 1 or more
  Type type;
  Shape shape;
  uint32_t scope; ///< the traced body in which it was made
  Where where;
};

/// What a View stands for.
struct Argument {
  mlir::Value ir;
  Parameter parameter;
};

/// A loop over Trace::range. The scf.for is built when its iteration begins.
struct Loop {
  Where where;
  mlir::Value begin, end, step;
  enum class State : uint8_t { declared, open, closed } state = State::declared;
  const Value *index = nullptr; ///< once open
};

/// An Operand, readable: a tile or a number.
struct Input {
  Recorder *recorder = nullptr; ///< null for a number
  const Value *tile = nullptr;
  bool isReal = false; ///< which of the two numbers it is
  int64_t integer = 0;
  double real = 0;
  Where where;
};

class Recorder {
public:
  Recorder(const std::string &kernel, const Schedule &schedule, const std::vector<ArgumentFacts> &facts);
  ~Recorder();
  Recorder(const Recorder &) = delete;

  Trace &trace() { return handle; }
  const Schedule &schedule() const { return completeSchedule; }
  mlir::OpBuilder &builder() { return opBuilder; }
  mlir::Location location(const Where &where);

  static Input read(const Operand &operand);
  static const Argument &read(const View &view) { return *view.argument; }
  Tile wrap(const Value &value) { return Tile(this, &value); }
  /// A new value of the innermost open scope.
  const Value &record(mlir::Value ir, const Where &where);

  View declareView(const Where &where, std::string_view name, Parameter::Access access, Type type, int rank);
  Tile declareScalar(const Where &where, std::string_view name, Type type);

  void enter(Var &var, const Tile &initial);
  void assign(Var &var, const Tile &value);
  void leave(Var &var);

  Trace::Range declareLoop(const Loop &loop) { return Trace::Range(*this, loops.emplace_back(loop)); }
  void openLoop(Loop &loop);
  void closeLoop(Loop &loop);
  /// The body of an open loop was left early: the next call, or the end of the trace, reports it.
  void abandon(const Loop &loop) noexcept;

  void openCondition(const Where &where, mlir::Value condition);
  void openOtherwise();
  void closeCondition();

  bool isOpen(uint32_t scope) const;
  /// Throws when an earlier mistake has made the rest of the trace meaningless.
  void checkIntact() const;

  /// Ends the kernel and hands out the verified module.
  struct Result {
    std::unique_ptr<mlir::MLIRContext> context;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::string kernel;
    std::vector<Parameter> parameters;
  };
  Result finish();

private:
  /// A variable that was alive when a scope was opened. `var` is null once it is gone.
  struct Carried {
    Var *var;
    const Value *before;
    const Value *inside;              ///< loops: the block argument
    const Value *afterThen = nullptr; ///< conditions
  };
  struct Scope {
    enum class Kind : uint8_t { kernel, loop, then, otherwise } kind;
    uint32_t id;
    Where where;
    mlir::Operation *op = nullptr; ///< scf.for or scf.if
    std::vector<Carried> carried;
  };

  mlir::Value declare(const Where &where, const char *function, Parameter parameter, mlir::Type type);
  void openScope(Scope::Kind kind, const Where &where, mlir::Operation *op, mlir::Block *body);
  Scope &innermost(Scope::Kind kind);
  std::string unclosed(const Scope &scope) const;

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder opBuilder;
  ir::KernelOp kernelOp;
  const std::string kernelName;
  const Schedule completeSchedule;
  const std::vector<ArgumentFacts> facts;

  std::deque<Value> values; // deques: pointers into them stay valid
  std::deque<Argument> arguments;
  std::deque<Loop> loops;
  std::vector<Parameter> parameters;
  std::vector<Var *> variables; ///< alive, oldest first
  std::vector<Scope> scopes;    ///< open, innermost last
  uint32_t lastScope = 0;
  const Loop *abandoned = nullptr;
  Trace handle;
};

/// One call of a function of the tile language: its name and operands, for checks, messages and source locations.
class Call {
public:
  /// At least one operand is a tile.
  Call(const char *name, std::initializer_list<Operand> operands);
  Call(Recorder &recorder, const char *name, const Where &where, std::initializer_list<Operand> operands = {});

  Recorder &recorder() { return *owner; }
  mlir::OpBuilder &builder() { return owner->builder(); }
  mlir::Location loc() { return owner->location(where); }
  const std::vector<Input> &operands() const { return inputs; }
  size_t add(const Operand &operand);

  /// "<file>:<line>: error: '<name>' <rule>"
  [[noreturn]] void fail(const std::string &rule) const;

  /// The operand, which must be a tile.
  const Value &tile(size_t operand) const;
  /// The operand as an i32 scalar: an index, a bound.
  mlir::Value index(size_t operand);
  /// The operand as a tile of a given type and shape; its own shape broadcasts. See number() for `modular`.
  mlir::Value fit(size_t operand, Type type, const Shape &shape, bool modular = false);
  /// The element type of those operands that are tiles; numbers adopt it.
  Type commonType(std::initializer_list<size_t> operands) const;
  /// The shape to which all operands broadcast.
  Shape commonShape() const;
  /// Checks rank, sizes and total; returns the tile's IR type.
  mlir::Type tileType(Type type, const Shape &shape);
  /// An axis counted from the front, from one that may be counted from the back.
  int64_t axis(int64_t axis, int64_t rank) const;

  /// A constant. The number must be representable: integers exactly, or modulo 2^32 for i32 where `modular` (operations
  /// that wrap around); reals are rounded but may not overflow, and only floats take them.
  mlir::Value number(const Input &input, Type type, const Shape &shape, bool modular = false);
  mlir::TypedAttr attribute(const Input &number, Type type, const Shape &shape, bool modular = false);

  Tile result(mlir::Value ir) { return owner->wrap(owner->record(ir, where)); }

private:
  void check(const Input &input) const;

  Recorder *owner = nullptr;
  const char *name;
  Where where;
  std::vector<Input> inputs;
};

/// What a double says where the type is known: an integer when the type is one and the double is whole.
Input numberOf(double value, Type type);

/// A context with the tile dialects, for one kernel, not threaded.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// For messages: "[8, 4]", "f32 [8, 4]" or "f32 scalar", "main.cpp:26", "2.5".
std::string describe(const Shape &shape);
std::string describe(const Value &value);
std::string describe(const Where &where);
std::string describe(const Input &number);

} // namespace sectile::dsl
