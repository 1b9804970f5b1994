// A finished trace, or one read back from text.
#include "compiler/dsl/TracedKernel.h"

#include "compiler/dsl/Recorder.h"
#include "compiler/ir/DiagnosticLog.h"
#include "compiler/ir/ElementType.h"
#include "compiler/support/Diagnostic.h"
#include "sectile/Error.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace sectile;

struct TracedKernel::Impl : dsl::Recorder::Result {};

TracedKernel::TracedKernel(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
TracedKernel::TracedKernel(TracedKernel &&) noexcept = default;
TracedKernel &TracedKernel::operator=(TracedKernel &&) noexcept = default;
TracedKernel::~TracedKernel() = default;

const std::string &TracedKernel::name() const { return impl->kernel; }
const std::vector<Parameter> &TracedKernel::parameters() const { return impl->parameters; }
mlir::MLIRContext &TracedKernel::context() const { return *impl->context; }
mlir::ModuleOp TracedKernel::module() const { return *impl->module; }

std::string TracedKernel::text(bool locations) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(locations);
  module().print(stream, flags);
  if (text.empty() || text.back() != '\n')
    text += '\n';
  return text;
}

TracedKernel sectile::trace(const std::string &name, const std::function<void(Trace &)> &body, const Schedule &schedule,
                            const std::vector<ArgumentFacts> &facts) {
  dsl::Recorder recorder(name, schedule, facts);
  body(recorder.trace());
  return TracedKernel(std::make_unique<TracedKernel::Impl>(TracedKernel::Impl{recorder.finish()}));
}

//===-- parsing -------------------------------------------------------------------------------------------------===//

/// The parameter that an argument's attributes declare; a message when they do not.
static llvm::Expected<Parameter> parameterOf(ir::KernelOp kernel, unsigned index) {
  constexpr std::pair<const char *, Parameter::Access> accesses[] = {{"input", Parameter::Access::input},
                                                                     {"output", Parameter::Access::output},
                                                                     {"inout", Parameter::Access::inout},
                                                                     {"scalar", Parameter::Access::scalar}};
  auto name = kernel.getArgAttrOfType<mlir::StringAttr>(index, "tile.name");
  auto access = kernel.getArgAttrOfType<mlir::StringAttr>(index, "tile.access");
  if (!name || !access)
    return userError("argument " + std::to_string(index) + " needs the attributes tile.name and tile.access");
  mlir::Type type = kernel.getArgumentTypes()[index];
  auto view = mlir::dyn_cast<ir::ViewType>(type);
  auto found = llvm::find_if(accesses, [&](auto &pair) { return access == pair.first; });
  if (found == std::end(accesses)) // the verifier has checked it
    return userError("argument " + std::to_string(index) + " has an unknown tile.access");
  return Parameter{name.str(), found->second, *ir::fromMlir(view ? view.getElementType() : type),
                   view ? static_cast<int32_t>(view.getRank()) : 0};
}

TracedKernel TracedKernel::parse(const std::string &text, const std::string &name) {
  auto impl = std::make_unique<Impl>();
  impl->context = dsl::makeContext();

  DiagnosticLog diagnostics(*impl->context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  impl->module = mlir::parseSourceFile<mlir::ModuleOp>(sources, impl->context.get());
  if (!impl->module)
    throw UserError(diagnostics.text());

  auto kernels = llvm::to_vector(impl->module->getOps<ir::KernelOp>());
  if (kernels.size() != 1)
    throw UserError(name + ": error: needs one tile.kernel, got " + std::to_string(kernels.size()));
  impl->kernel = kernels[0].getName().str();
  for (unsigned i = 0; i < kernels[0].getNumArguments(); ++i) {
    llvm::Expected<Parameter> parameter = parameterOf(kernels[0], i);
    if (!parameter)
      throw UserError(name + ": error: " + llvm::toString(parameter.takeError()));
    impl->parameters.push_back(std::move(*parameter));
  }
  return TracedKernel(std::move(impl));
}
