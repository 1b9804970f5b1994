# LLVM and MLIR 22: found once, linked by everything through the interface library `sectile_llvm`.
#
#   SECTILE_STATIC_LLVM=OFF  libMLIR.so and libLLVM.so: quick to link, for day-to-day work.
#   SECTILE_STATIC_LLVM=ON   static archives, of which only what we use is kept, with symbols that stay inside
#                            libsectile.so: it then needs nothing of LLVM at run time and can live beside another LLVM.

set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir CACHE PATH "The folder of MLIRConfig.cmake, from LLVM/MLIR 22")
set(mlir_folder ${MLIR_DIR}) # find_package overwrites it when it finds nothing
find_package(MLIR CONFIG)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "Sectile needs LLVM/MLIR 22 and found none in ${mlir_folder}: "
                      "install llvm-22-dev, libmlir-22-dev, mlir-22-tools and liblld-22-dev, or set -DMLIR_DIR=<prefix>/lib/cmake/mlir")
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Sectile needs LLVM/MLIR 22, found ${LLVM_VERSION} in ${MLIR_DIR}: "
                      "set -DMLIR_DIR=<prefix>/lib/cmake/mlir")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# LLD links code objects for AMD GPUs. There are static archives of it only, and they compress sections.
foreach(library lldELF lldCommon)
  find_library(SECTILE_${library} ${library} HINTS ${LLVM_LIBRARY_DIR})
  if(NOT SECTILE_${library})
    message(FATAL_ERROR "Sectile needs LLD 22's lib${library}.a: install liblld-22-dev")
  endif()
endforeach()
foreach(library z zstd)
  find_library(SECTILE_static_${library} lib${library}.a)
  if(NOT SECTILE_static_${library})
    message(FATAL_ERROR "Sectile needs lib${library}.a: install zlib1g-dev and libzstd-dev")
  endif()
endforeach()
set(SECTILE_LLD_LIBRARIES ${SECTILE_lldELF} ${SECTILE_lldCommon} ${SECTILE_static_z} ${SECTILE_static_zstd})

add_library(sectile_llvm INTERFACE)
if(NOT SECTILE_STATIC_LLVM)
  target_link_libraries(sectile_llvm INTERFACE ${SECTILE_LLD_LIBRARIES} MLIR LLVM)
  return()
endif()

# What Sectile uses, and no more: each line below costs size.
set(SECTILE_MLIR_LIBRARIES
    MLIRIR MLIRParser MLIRPass MLIRTransforms
    # dialects
    MLIRArithDialect MLIRControlFlowDialect MLIRFuncDialect MLIRLLVMDialect MLIRMathDialect MLIRNVVMDialect MLIRSCFDialect MLIRUBDialect
    MLIRVectorDialect
    MLIRArithTransforms
    # conversions down to the llvm dialect
    MLIRArithToLLVM MLIRControlFlowToLLVM MLIRFuncToLLVM MLIRMathToLLVM MLIRReconcileUnrealizedCasts
    MLIRSCFToControlFlow MLIRUBToLLVM MLIRVectorToLLVMPass
    # and from there to LLVM IR
    MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation MLIRNVVMToLLVMIRTranslation
    MLIRROCDLDialect MLIRROCDLToLLVMIRTranslation MLIRTargetLLVMIRExport)
llvm_map_components_to_libnames(SECTILE_LLVM_LIBRARIES core support passes executionengine runtimedyld
                                x86codegen x86desc x86info x86asmparser nvptxcodegen nvptxdesc nvptxinfo
                                amdgpuasmparser amdgpucodegen amdgpudesc amdgpudisassembler amdgpuinfo
                                dtlto lto option windowsdriver) # the last four are LLD's

# Debian's static MLIR archives name libLLVM.so as a dependency: that would bring a second LLVM into the process, whose
# passes are never initialized. Take it out of each.
foreach(archive ${MLIR_EXPORTED_TARGETS})
  get_target_property(type ${archive} TYPE)
  get_target_property(dependencies ${archive} INTERFACE_LINK_LIBRARIES)
  if(type STREQUAL "STATIC_LIBRARY" AND dependencies)
    list(REMOVE_ITEM dependencies LLVM)
    set_property(TARGET ${archive} PROPERTY INTERFACE_LINK_LIBRARIES "${dependencies}")
  endif()
endforeach()

# LLD's link-time optimization names an optimizer that is not packaged (see UnlinkedTargets.cpp).
foreach(library LLVMLTO LLVMPasses LLVMExtensions)
  if(TARGET ${library})
    get_target_property(dependencies ${library} INTERFACE_LINK_LIBRARIES)
    list(REMOVE_ITEM dependencies Polly PollyISL)
    set_property(TARGET ${library} PROPERTY INTERFACE_LINK_LIBRARIES "${dependencies}")
  endif()
endforeach()

# LLVMSupport names shared zlib, zstd and z3. The first two are linked statically, the third is not used.
foreach(library z zstd)
  find_library(SECTILE_STATIC_${library} lib${library}.a)
  if(NOT SECTILE_STATIC_${library})
    message(FATAL_ERROR "SECTILE_STATIC_LLVM needs lib${library}.a: install zlib1g-dev and libzstd-dev")
  endif()
endforeach()
set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES
             "rt;dl;m;${SECTILE_STATIC_z};${SECTILE_STATIC_zstd};LLVMDemangle")

target_link_libraries(sectile_llvm INTERFACE ${SECTILE_LLD_LIBRARIES} ${SECTILE_MLIR_LIBRARIES} ${SECTILE_LLVM_LIBRARIES})
target_link_options(sectile_llvm INTERFACE -Wl,--gc-sections -Wl,--icf=all)
