#include "compiler/Compiler.h"

#include "compiler/support/Diagnostic.h"
#include "compiler/support/Fingerprint.h"
#include "compiler/targets/Backend.h"
#include "compiler/targets/nvptx/Disassemble.h"

#include "mlir/IR/MLIRContext.h"

namespace sectile {

/// An edited tile stage is launched with the arguments of the original, so that it has to declare the same ones.
static llvm::Error checkSameInterface(mlir::ModuleOp edited, mlir::ModuleOp original) {
  auto kernelOf = [](mlir::ModuleOp module) -> mlir::Operation * {
    auto &operations = module.getBody()->getOperations();
    return operations.size() == 1 ? &operations.front() : nullptr;
  };
  mlir::Operation *a = kernelOf(edited), *b = kernelOf(original);
  if (!a || a->getName() != b->getName())
    return userError("the edited stage 'tile.mlir' has to hold one tile.kernel and nothing else");
  if (a->getAttrDictionary() != b->getAttrDictionary()) {
    std::string message = "the edited stage 'tile.mlir' declares another kernel than the one it replaces: ";
    llvm::raw_string_ostream os(message);
    os << a->getAttrDictionary() << ", but the launch passes arguments for " << b->getAttrDictionary();
    return userError(std::move(message));
  }
  return llvm::Error::success();
}

/// An edited llvm stage may ask for what a launch has not, or the hardware cannot do.
static llvm::Error checkTensorMaps(llvm::ArrayRef<TensorMap> maps, llvm::ArrayRef<Parameter> parameters) {
  for (auto [i, map] : llvm::enumerate(maps)) {
    const std::string culprit = "tensor map " + std::to_string(i) + " of the llvm stage (sectile.tensor_maps) ";
    if (map.parameter >= parameters.size() || parameters[map.parameter].access == Parameter::Access::scalar)
      return userError(culprit + "is of parameter " + std::to_string(map.parameter) +
                       "; legal: the number of a view among the kernel's " + std::to_string(parameters.size()) +
                       " parameters");
    const Parameter &parameter = parameters[map.parameter];
    if (std::optional<std::string> problem = whyIllegal(map, parameter.type, parameter.rank))
      return userError(culprit + "of '" + parameter.name + "' " + *problem);
  }
  return llvm::Error::success();
}

llvm::Expected<Artifact> compile(const TracedKernel &kernel, const Target &target, const Schedule &schedule,
                                 StageSink *sink) {
  const Backend &backend = backendOf(target);
  mlir::MLIRContext &context = kernel.context();
  mlir::DialectRegistry registry;
  backend.registerDialects(registry);
  context.appendDialectRegistry(registry);
  for (llvm::StringRef name : registry.getDialectNames())
    context.getOrLoadDialect(name);

  StageRecorder stages(sink);
  mlir::ModuleOp original = kernel.module();
  mlir::OwningOpRef<mlir::ModuleOp> module(original.clone());
  if (llvm::Error error = stages.record("tile", "tile.mlir", module))
    return error;
  if (llvm::Error error = checkSameInterface(*module, original))
    return error;
  llvm::Expected<CompiledKernel> compiled = backend.compile(std::move(module), target, schedule, stages);
  if (!compiled)
    return compiled.takeError();
  if (llvm::Error error = checkTensorMaps(compiled->tensorMaps, kernel.parameters()))
    return error;
  return Artifact{stages.take(), std::move(compiled->resources), kernel.parameters(), std::move(compiled->entry),
                  std::move(compiled->tensorMaps)};
}

std::optional<Stage> listingOf(const Stage &cubin, llvm::StringRef toolkit) {
  llvm::Expected<std::optional<std::string>> text = nvptx::disassemble(cubin.text, toolkit);
  if (!text)
    return Stage{"sass", "kernel.sass", "// not disassembled: " + llvm::toString(text.takeError()) + "\n"};
  if (!*text)
    return std::nullopt;
  return Stage{"sass", "kernel.sass", std::move(**text)};
}

std::string contentKey(const TracedKernel &kernel, const Target &target, const Schedule &schedule) {
  Schedule shaping = schedule;
  shaping.threads = 0; // how many threads share the grid is the launch's business, not the code's
  return Fingerprint()
      .add(kernel.name())
      .add(kernel.text(/*locations=*/false))
      .add(toString(shaping))
      .add(target.key())
      .add(buildId())
      .hex();
}

} // namespace sectile
