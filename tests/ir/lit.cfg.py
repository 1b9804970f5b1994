import os

import lit.formats

config.name = "sectile-ir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.test_output
config.substitutions.append(("sectile-opt", config.sectile_opt))
config.environment["PATH"] = config.llvm_tools + os.pathsep + os.environ["PATH"]
