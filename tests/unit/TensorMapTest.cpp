// Tensor maps from the llvm stage, which may be an edited one, to the artifact.
#include "compiler/Compiler.h"
#include "compiler/support/Diagnostic.h"
#include "sectile/Error.h"

#include <catch2/catch.hpp>

using namespace sectile;
using Catch::Contains;

namespace {

/// In the place of the llvm stage: a kernel that does nothing, with these maps.
struct EditedLlvm : StageSink {
  explicit EditedLlvm(const std::string &maps) : maps(maps) {}
  void produced(const Stage &) override {}
  std::optional<std::string> replacement(const std::string &file) override {
    if (file != "llvm.mlir")
      return std::nullopt;
    return "llvm.func @copy(%p: !llvm.ptr {llvm.byval = !llvm.array<45 x i64>, llvm.align = 64 : i64, "
           "nvvm.grid_constant}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>, "
           "sectile.threads = 32 : i64, sectile.shared_bytes = 0 : i64" +
           (maps.empty() ? "" : ", sectile.tensor_maps = " + maps) + "} { llvm.return }\n";
  }
  std::string maps;
};

void copy(Trace &t) {
  t.input("x", Type::bf16, 2);
  t.scalar("factor");
  t.output("y", Type::f32, 1);
}

Artifact compiledWith(const std::string &maps) {
  const Target target = valueOrThrow(resolveTarget("nvptx:sm_90a", "none"));
  const Schedule schedule = valueOrThrow(completeSchedule({}, target));
  EditedLlvm edited(maps);
  return valueOrThrow(compile(trace("copy", copy, schedule, {}), target, schedule, &edited));
}

/// The message of what is refused.
std::string refusal(const std::string &maps) {
  try {
    compiledWith(maps);
  } catch (const UserError &error) {
    return error.what();
  } catch (const std::exception &error) {
    return std::string("another kind of error: ") + error.what();
  }
  return "not refused";
}

int64_t resource(const Artifact &artifact, const std::string &name) {
  for (const auto &[key, value] : artifact.resources)
    if (key == name)
      return value;
  return -1;
}

} // namespace

TEST_CASE("the llvm stage says which tensor maps a launch encodes") {
  const Artifact artifact =
      compiledWith("[{parameter = 0 : i64, rows = 128 : i64, columns = 64 : i64, swizzle = 128 : i64}, "
                   "{parameter = 0 : i64, rows = 16 : i64, columns = 8 : i64, swizzle = 0 : i64}]");
  CHECK(artifact.tensorMaps == std::vector<TensorMap>{{0, 128, 64, 128}, {0, 16, 8, 0}});
  CHECK(resource(artifact, "tensor_maps") == 2);
  for (const char *none : {"", "[]"}) {
    CHECK(compiledWith(none).tensorMaps.empty());
    CHECK(resource(compiledWith(none), "tensor_maps") == -1);
  }
}

TEST_CASE("tensor maps that are none are refused as they are written") {
  for (const char *maps :
       {"1 : i64", "[1 : i64]", "[{parameter = 0 : i64, rows = 128 : i64, columns = 64 : i64}]",
        "[{parameter = 0 : i64, rows = 128 : i64, columns = 64 : i64, swizzle = 128 : i64, more = 1 : i64}]",
        "[{parameter = 0 : i64, rows = 128 : i64, columns = 64 : i64, swizzles = 128 : i64}]",
        "[{parameter = 0 : i64, rows = 128 : i32, columns = 64 : i64, swizzle = 128 : i64}]",
        "[{parameter = -1 : i64, rows = 128 : i64, columns = 64 : i64, swizzle = 128 : i64}]",
        "[{parameter = 4294967296 : i64, rows = 128 : i64, columns = 64 : i64, swizzle = 128 : i64}]",
        "[{parameter = 0 : i64, rows = \"all\", columns = 64 : i64, swizzle = 128 : i64}]"}) {
    INFO(maps);
    CHECK_THAT(refusal(maps), Contains("the attribute sectile.tensor_maps of the llvm stage has ") &&
                                  Contains("legal: a list of dictionaries of parameter, rows, columns, swizzle"));
  }
  CHECK_THAT(refusal("[{parameter = 0 : i64}]"), Contains("has {parameter = 0 : i64};"));
}

TEST_CASE("tensor maps of what cannot be mapped are refused") {
  const auto refused = [](int parameter, int rows, int columns, int swizzle) {
    const auto field = [](const char *name, int value) {
      return std::string(name) + " = " + std::to_string(value) + " : i64";
    };
    return refusal("[{" + field("parameter", parameter) + ", " + field("rows", rows) + ", " +
                   field("columns", columns) + ", " + field("swizzle", swizzle) + "}]");
  };
  const std::string map = "tensor map 0 of the llvm stage (sectile.tensor_maps) ";
  CHECK(refused(0, 128, 64, 128) == "not refused");
  for (int parameter : {1, 3}) // a scalar, none at all
    CHECK(refused(parameter, 128, 64, 128) == map + "is of parameter " + std::to_string(parameter) +
                                                  "; legal: the number of a view among the kernel's 3 parameters");
  CHECK(refused(2, 16, 16, 0) == map + "of 'y' is of an array of rank 1; legal: 2 to 5");
  CHECK(refused(0, 0, 64, 128) == map + "of 'x' has 0 rows; legal: 1 to 256");
  CHECK(refused(0, 257, 64, 128) == map + "of 'x' has 257 rows; legal: 1 to 256");
  CHECK(refused(0, 16, 0, 128) == map + "of 'x' has 0 columns; legal: 1 to 256");
  CHECK(refused(0, 16, 12, 0) == map + "of 'x' has rows of 24 bytes; legal: multiples of 16");
  CHECK(refused(0, 16, 64, 16) == map + "of 'x' has a swizzle of 16 bytes; legal: 0, 32, 64 and 128");
  CHECK(refused(0, 16, 64, 64) == map + "of 'x' has rows of 128 bytes and a swizzle of 64; legal: rows of up to that");
}
