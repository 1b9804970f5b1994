// The recorder's state: the module being built, values and arguments, and the end of a trace.
#include "compiler/dsl/Recorder.h"

#include "compiler/ir/DiagnosticLog.h"
#include "compiler/ir/ElementType.h"
#include "sectile/Error.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace sectile;
using namespace sectile::dsl;

static bool isIdentifier(std::string_view name) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && isLetter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

std::unique_ptr<mlir::MLIRContext> dsl::makeContext() {
  mlir::DialectRegistry registry;
  ir::registerTileDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

Recorder::Recorder(const std::string &kernel, const Schedule &schedule, const std::vector<ArgumentFacts> &facts)
    : context(makeContext()), module(mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()))),
      opBuilder(module->getBodyRegion()), kernelName(kernel), completeSchedule(schedule), facts(facts), handle(*this) {
  if (kernel.empty())
    throw UserError("a kernel needs a name");
  kernelOp = ir::KernelOp::create(opBuilder, module->getLoc(), kernel, opBuilder.getFunctionType({}, {}));
  openScope(Scope::Kind::kernel, Where(), kernelOp, &kernelOp.getBody().front());
}

Recorder::~Recorder() = default;

mlir::Location Recorder::location(const Where &where) {
  return mlir::FileLineColLoc::get(context.get(), llvm::sys::path::filename(where.file_name()), where.line(),
                                   where.column());
}

Input Recorder::read(const Operand &operand) {
  Input input;
  input.where = operand.where;
  switch (operand.kind) {
  case Operand::Kind::tile:
    input.recorder = operand.tile->recorder;
    input.tile = operand.tile->value;
    break;
  case Operand::Kind::var:
    input.recorder = operand.var->recorder;
    input.tile = operand.var->value;
    break;
  case Operand::Kind::integer:
    input.integer = operand.integer;
    break;
  case Operand::Kind::real:
    input.isReal = true;
    input.real = operand.real;
    break;
  }
  return input;
}

const Value &Recorder::record(mlir::Value ir, const Where &where) {
  Shape shape;
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(ir.getType()))
    shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  std::optional<Type> type = ir::fromMlir(mlir::getElementTypeOrSelf(ir.getType()));
  if (!type)
    throw InternalError("the tile language recorded a value of a type that it does not have");
  return values.emplace_back(Value{ir, *type, std::move(shape), scopes.back().id, where});
}

mlir::Value Recorder::declare(const Where &where, const char *function, Parameter parameter, mlir::Type type) {
  Call call(*this, function, where);
  if (!isIdentifier(parameter.name))
    call.fail("needs a name made of letters, digits and '_' that does not begin with a digit, got \"" + parameter.name +
              "\"");
  for (const Parameter &other : parameters)
    if (other.name == parameter.name)
      call.fail("declares \"" + parameter.name + "\" a second time: argument names are unique");
  parameters.push_back(std::move(parameter));
  return kernelOp.getBody().front().addArgument(type, location(where));
}

View Recorder::declareView(const Where &where, std::string_view name, Parameter::Access access, Type type, int rank) {
  const char *function = access == Parameter::Access::input    ? "input"
                         : access == Parameter::Access::output ? "output"
                                                               : "inout";
  if (rank < 1 || rank > ArrayView::maxRank)
    Call(*this, function, where)
        .fail("declares a view of rank 1 to " + std::to_string(ArrayView::maxRank) + ", got " + std::to_string(rank));
  Parameter parameter{std::string(name), access, type, rank};
  mlir::Type viewType = ir::ViewType::get(context.get(), rank, ir::toMlir(context.get(), type));
  mlir::Value ir = declare(where, function, parameter, viewType);
  return View(this, &arguments.emplace_back(Argument{ir, std::move(parameter)}));
}

Tile Recorder::declareScalar(const Where &where, std::string_view name, Type type) {
  if (type != Type::f32 && type != Type::i32)
    Call(*this, "scalar", where).fail("declares an f32 or i32, got " + std::string(typeName(type)));
  mlir::Value ir = declare(where, "scalar", {std::string(name), Parameter::Access::scalar, type, 0},
                           ir::toMlir(context.get(), type));
  // Arguments belong to the kernel, wherever they are declared.
  return wrap(values.emplace_back(Value{ir, type, {}, scopes.front().id, where}));
}

void Recorder::checkIntact() const {
  if (abandoned)
    throw UserError(describe(abandoned->where) +
                    ": error: 'range' loop was left early (break, return, goto or an exception): its body is traced "
                    "once and stands for every iteration; use Trace::when or a Var instead");
}

std::string Recorder::unclosed(const Scope &scope) const {
  const char *name = scope.kind == Scope::Kind::loop ? "'range' loop" : "'when'";
  return describe(scope.where) + ": error: " + name + " was left before its end";
}

static mlir::ArrayAttr argumentAttributes(mlir::OpBuilder &builder, const std::vector<Parameter> &parameters,
                                          const std::vector<ArgumentFacts> &facts) {
  constexpr const char *accessNames[] = {"input", "output", "inout", "scalar"};
  llvm::SmallVector<mlir::Attribute> attributes;
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    mlir::NamedAttrList list;
    list.set("tile.name", builder.getStringAttr(parameter.name));
    list.set("tile.access", builder.getStringAttr(accessNames[static_cast<int>(parameter.access)]));
    if (i < facts.size() && facts[i].unitStride)
      list.set("tile.unit_stride", builder.getUnitAttr());
    if (i < facts.size() && facts[i].aligned16)
      list.set("tile.aligned16", builder.getUnitAttr());
    if (i < facts.size() && facts[i].bulk)
      list.set("tile.bulk", builder.getUnitAttr());
    attributes.push_back(list.getDictionary(builder.getContext()));
  }
  return builder.getArrayAttr(attributes);
}

Recorder::Result Recorder::finish() {
  checkIntact();
  if (scopes.size() > 1)
    throw UserError(unclosed(scopes.back()));
  if (facts.size() > parameters.size())
    throw InternalError("facts on " + std::to_string(facts.size()) + " arguments of kernel '" + kernelName +
                        "', which declares " + std::to_string(parameters.size()));
  for (auto [fact, parameter] : llvm::zip(facts, parameters))
    if ((fact.unitStride || fact.aligned16 || fact.bulk) && parameter.access == Parameter::Access::scalar)
      throw InternalError("scalar '" + parameter.name + "' of kernel '" + kernelName +
                          "' has no strides and no address");

  mlir::Block &body = kernelOp.getBody().front();
  ir::ReturnOp::create(opBuilder, module->getLoc());
  kernelOp.setFunctionType(opBuilder.getFunctionType(body.getArgumentTypes(), {}));
  if (!parameters.empty())
    kernelOp.setArgAttrsAttr(argumentAttributes(opBuilder, parameters, facts));

  {
    DiagnosticLog diagnostics(*context);
    if (mlir::failed(mlir::verify(*module)))
      throw InternalError("the trace of kernel '" + kernelName + "' does not verify:\n" + diagnostics.text());
  }
  return {std::move(context), std::move(module), kernelName, parameters};
}
