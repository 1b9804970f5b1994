# Compiler flags, LLVM and MLIR, and the two functions that every folder uses.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(SECTILE_CCACHE ccache)
if(SECTILE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SECTILE_CCACHE})
endif()

set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir CACHE PATH "The folder of MLIRConfig.cmake, from LLVM/MLIR 22")
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Sectile needs LLVM/MLIR 22, found ${LLVM_VERSION} in ${MLIR_DIR}: set -DMLIR_DIR=<prefix>/lib/cmake/mlir")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
find_package(Threads REQUIRED)

# The interfaces that all our targets share: warnings for our code, system includes for theirs.
add_library(sectile_flags INTERFACE)
target_compile_options(sectile_flags INTERFACE -Wall -Wextra $<$<BOOL:${SECTILE_WERROR}>:-Werror>)
target_include_directories(sectile_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_include_directories(sectile_flags SYSTEM INTERFACE ${PROJECT_BINARY_DIR} ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
if(SECTILE_SANITIZE)
  target_compile_options(sectile_flags INTERFACE -fsanitize=${SECTILE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(sectile_flags INTERFACE -fsanitize=${SECTILE_SANITIZE})
endif()
find_program(SECTILE_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR})
if(SECTILE_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_link_options(sectile_flags INTERFACE -fuse-ld=lld)
endif()

# sectile_library(name sources…): an object library; all of them together make libsectile and what the tests link.
function(sectile_library name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE sectile_flags)
  add_dependencies(${name} SectileTileIncGen)
  set_property(GLOBAL APPEND PROPERTY SECTILE_LIBRARIES ${name})
endfunction()

# What the tests and tools link: every object library, LLVM and MLIR. Shared for day-to-day builds.
function(sectile_link_all target)
  get_property(libraries GLOBAL PROPERTY SECTILE_LIBRARIES)
  target_link_libraries(${target} PRIVATE sectile_flags ${libraries} MLIR LLVM Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# sectile_test(name sources…): a Catch2 program over the internals, registered with ctest.
function(sectile_test name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE sectile_catch)
  sectile_link_all(${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# Adds a folder that is there.
function(sectile_subdirectory name)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/CMakeLists.txt)
    add_subdirectory(${name})
  endif()
endfunction()
