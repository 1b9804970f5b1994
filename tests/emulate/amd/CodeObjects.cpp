#include "tests/emulate/amd/CodeObjects.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>

using namespace sectile;
using llvm::StringRef;

namespace {

/// A file that goes away with the object.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix, StringRef content = "") {
    llvm::SmallString<128> path;
    int handle = -1;
    REQUIRE(!llvm::sys::fs::createTemporaryFile("sectile", suffix, handle, path));
    name = path.str().str();
    llvm::raw_fd_ostream(handle, true) << content;
  }
  ~TemporaryFile() { llvm::sys::fs::remove(name); }
  std::string name;
};

void runTool(StringRef tool, const std::vector<std::string> &arguments) {
  const std::string path = (tool == "ld.lld" ? std::string(SECTILE_LLD) : SECTILE_LLVM_TOOLS "/" + tool.str());
  std::vector<StringRef> all{path};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::string error;
  const int result = llvm::sys::ExecuteAndWait(path, all, std::nullopt, {}, 120, 0, &error);
  INFO(path << " " << error << " " << arguments.back());
  REQUIRE(result == 0);
}

std::shared_ptr<const emulate::CodeObject> link(const TemporaryFile &object) {
  const TemporaryFile elf("elf");
  runTool("ld.lld", {"-shared", object.name, "-o", elf.name});
  auto buffer = llvm::MemoryBuffer::getFile(elf.name);
  REQUIRE(buffer);
  auto code = emulate::CodeObject::load((*buffer)->getBuffer());
  if (!code)
    FAIL(toString(code.takeError()));
  return std::move(*code);
}

} // namespace

std::shared_ptr<const emulate::CodeObject> test::compileIr(const std::string &processor, const std::string &ir) {
  const TemporaryFile text("ll", "target triple = \"amdgcn-amd-amdhsa\"\n" + ir), optimized("bc"), object("o");
  runTool("opt", {"-O3", "-mcpu=" + processor, text.name, "-o", optimized.name});
  runTool("llc", {"-O3", "-mcpu=" + processor, "-filetype=obj", optimized.name, "-o", object.name});
  return link(object);
}

std::shared_ptr<const emulate::CodeObject> test::assemble(const std::string &processor, const AssemblyKernel &kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const bool rdna = processor[3] == '1';
  os << ".amdgcn_target \"amdgcn-amd-amdhsa--" << processor
     << "\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n"
     << kernel.body << "\n  s_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel k\n"
     << "  .amdhsa_group_segment_fixed_size " << kernel.ldsSize << "\n"
     << "  .amdhsa_private_segment_fixed_size " << kernel.privateSize << "\n"
     << "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n  .amdhsa_system_sgpr_workgroup_id_x 1\n"
     << "  .amdhsa_next_free_vgpr " << kernel.vgprs << "\n  .amdhsa_next_free_sgpr 32\n"
     << (rdna ? "" : "  .amdhsa_accum_offset 32\n") << (rdna ? "  .amdhsa_wavefront_size32 1\n" : "")
     << "  .amdhsa_float_denorm_mode_32 3\n.end_amdhsa_kernel\n";
  const TemporaryFile source("s", text), object("o");
  runTool("llvm-mc",
          {"-triple=amdgcn-amd-amdhsa", "-mcpu=" + processor, "-filetype=obj", source.name, "-o", object.name});
  return link(object);
}

std::string test::failureOf(const emulate::CodeObject &code, StringRef kernel, const emulate::Launch &launch) {
  auto counters = emulate::run(code, kernel, launch);
  if (counters)
    return "no failure";
  return toString(counters.takeError());
}
