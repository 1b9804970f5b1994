// Variables, and the traced bodies that carry them: loops and conditions.
//
// An scf.for is opened with every live variable as a carried value, because what its body assigns is not known yet;
// when it closes, it is rebuilt with those that changed. An scf.if is opened without results, likewise.
#include "compiler/dsl/Recorder.h"

#include "sectile/Error.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>

using namespace sectile;
using namespace sectile::dsl;
using namespace mlir::scf;

//===-- scopes --------------------------------------------------------------------------------------------------===//

bool Recorder::isOpen(uint32_t scope) const {
  return std::any_of(scopes.begin(), scopes.end(), [&](const Scope &open) { return open.id == scope; });
}

void Recorder::openScope(Scope::Kind kind, const Where &where, mlir::Operation *op, mlir::Block *body) {
  scopes.push_back({kind, lastScope++, where, op, {}});
  opBuilder.setInsertionPointToEnd(body);
}

Recorder::Scope &Recorder::innermost(Scope::Kind kind) {
  if (scopes.back().kind != kind)
    throw UserError(unclosed(scopes.back()));
  return scopes.back();
}

//===-- variables -----------------------------------------------------------------------------------------------===//

void Recorder::enter(Var &var, const Tile &initial) {
  const Call checked(*this, "Var", var.where, {Operand(initial, var.where)});
  variables.push_back(&var);
}

void Recorder::assign(Var &var, const Tile &tile) {
  // An assignment carries no source line of its own: the line of the new value is the closest.
  const Value &now = *var.value, &next = *tile.value;
  Call call(*this, "=", next.where, {Operand(tile, next.where)});
  if (next.type != now.type || next.shape != now.shape)
    call.fail("needs " + describe(now) + ", as the variable declared at " + describe(var.where) + " has, got " +
              describe(next));
  var.value = &next;
}

void Recorder::leave(Var &var) {
  variables.erase(std::remove(variables.begin(), variables.end(), &var), variables.end());
  for (Scope &scope : scopes)
    for (Carried &carried : scope.carried)
      if (carried.var == &var)
        carried.var = nullptr;
}

Var::Var(const Tile &initial, Where where)
    : recorder(Recorder::read(initial).recorder), value(Recorder::read(initial).tile), where(where) {
  recorder->enter(*this, initial);
}
Var::~Var() { recorder->leave(*this); }
Var &Var::operator=(const Tile &tile) {
  recorder->assign(*this, tile);
  return *this;
}
Tile::Tile(const Var &var) : recorder(var.recorder), value(var.value) {}

//===-- loops ---------------------------------------------------------------------------------------------------===//

void Recorder::openLoop(Loop &loop) {
  Call call(*this, "range", loop.where);
  if (loop.state != Loop::State::declared)
    call.fail("loop was iterated before: write t.range(…) again");

  std::vector<Carried> carried;
  llvm::SmallVector<mlir::Value> initial;
  for (Var *var : variables)
    if (isOpen(var->value->scope)) { // others would be refused at their next use
      carried.push_back({var, var->value, nullptr});
      initial.push_back(var->value->ir);
    }
  auto forOp = ForOp::create(opBuilder, call.loc(), loop.begin, loop.end, loop.step, initial);
  mlir::Block *body = forOp.getBody();
  body->clear(); // the terminator comes when the loop is closed
  openScope(Scope::Kind::loop, loop.where, forOp, body);
  loop.index = &record(forOp.getInductionVar(), loop.where);
  for (auto [i, variable] : llvm::enumerate(carried)) {
    variable.inside = &record(forOp.getRegionIterArg(i), variable.before->where);
    variable.var->value = variable.inside;
  }
  scopes.back().carried = std::move(carried);
  loop.state = Loop::State::open;
}

void Recorder::closeLoop(Loop &loop) {
  checkIntact();
  Scope scope = std::move(innermost(Scope::Kind::loop));
  scopes.pop_back();
  auto old = mlir::cast<ForOp>(scope.op);

  // 1. What changed stays carried; what did not is the value from before the loop.
  std::vector<Carried *> changed;
  llvm::SmallVector<mlir::Value> initial, yielded;
  for (Carried &carried : scope.carried)
    if (carried.var && carried.var->value->ir != carried.inside->ir) {
      changed.push_back(&carried);
      initial.push_back(carried.before->ir);
      yielded.push_back(carried.var->value->ir);
    }
  YieldOp::create(opBuilder, old.getLoc(), yielded);

  // 2. The loop with only these.
  opBuilder.setInsertionPoint(old);
  auto loopOp = ForOp::create(opBuilder, old.getLoc(), loop.begin, loop.end, loop.step, initial);
  mlir::Block *body = loopOp.getBody();
  body->clear();
  old.getInductionVar().replaceAllUsesWith(loopOp.getInductionVar());
  unsigned position = 0;
  for (Carried &carried : scope.carried) {
    bool isCarried = position < changed.size() && changed[position] == &carried;
    mlir::Value(carried.inside->ir)
        .replaceAllUsesWith(isCarried ? mlir::Value(loopOp.getRegionIterArg(position)) : carried.before->ir);
    position += isCarried;
  }
  body->getOperations().splice(body->end(), old.getBody()->getOperations());
  old.erase();

  // 3. Variables go on with the results.
  opBuilder.setInsertionPointAfter(loopOp);
  for (const Carried &carried : scope.carried)
    if (carried.var)
      carried.var->value = carried.before;
  for (auto [carried, result] : llvm::zip(changed, loopOp.getResults()))
    carried->var->value = &record(result, scope.where);
  loop.state = Loop::State::closed;
}

void Recorder::abandon(const Loop &loop) noexcept {
  if (!abandoned)
    abandoned = &loop;
}

//===-- conditions ----------------------------------------------------------------------------------------------===//

void Recorder::openCondition(const Where &where, mlir::Value condition) {
  auto ifOp = IfOp::create(opBuilder, location(where), mlir::TypeRange(), condition, /*addThenBlock=*/true,
                           /*addElseBlock=*/true);
  std::vector<Carried> carried;
  for (Var *var : variables)
    if (isOpen(var->value->scope))
      carried.push_back({var, var->value, nullptr});
  openScope(Scope::Kind::then, where, ifOp, ifOp.thenBlock());
  scopes.back().carried = std::move(carried);
}

void Recorder::openOtherwise() {
  checkIntact();
  Scope then = std::move(innermost(Scope::Kind::then));
  scopes.pop_back();
  for (Carried &carried : then.carried)
    if (carried.var) {
      carried.afterThen = carried.var->value;
      carried.var->value = carried.before;
    }
  openScope(Scope::Kind::otherwise, then.where, then.op, mlir::cast<IfOp>(then.op).elseBlock());
  scopes.back().carried = std::move(then.carried);
}

void Recorder::closeCondition() {
  checkIntact();
  if (scopes.back().kind == Scope::Kind::then)
    openOtherwise();
  Scope scope = std::move(innermost(Scope::Kind::otherwise));
  scopes.pop_back();
  auto old = mlir::cast<IfOp>(scope.op);

  // 1. What either side changed becomes a result.
  std::vector<Carried *> changed;
  llvm::SmallVector<mlir::Value> thenValues, elseValues;
  llvm::SmallVector<mlir::Type> types;
  for (Carried &carried : scope.carried)
    if (carried.var && (carried.afterThen != carried.before || carried.var->value != carried.before)) {
      changed.push_back(&carried);
      thenValues.push_back(carried.afterThen->ir);
      elseValues.push_back(carried.var->value->ir);
      types.push_back(carried.before->ir.getType());
    }

  // 2. The condition with these results, and without an empty else.
  opBuilder.setInsertionPointToEnd(old.thenBlock());
  YieldOp::create(opBuilder, old.getLoc(), thenValues);
  opBuilder.setInsertionPointToEnd(old.elseBlock());
  YieldOp::create(opBuilder, old.getLoc(), elseValues);
  opBuilder.setInsertionPoint(old);
  auto ifOp = IfOp::create(opBuilder, old.getLoc(), types, old.getCondition(), /*addThenBlock=*/false,
                           /*addElseBlock=*/false);
  ifOp.getThenRegion().takeBody(old.getThenRegion());
  if (!changed.empty() || !llvm::hasSingleElement(*old.elseBlock()))
    ifOp.getElseRegion().takeBody(old.getElseRegion());
  old.erase();

  // 3. Variables go on with the results.
  opBuilder.setInsertionPointAfter(ifOp);
  for (auto [carried, result] : llvm::zip(changed, ifOp.getResults()))
    carried->var->value = &record(result, scope.where);
}
