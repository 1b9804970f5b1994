# Compiler flags and the functions that every folder uses.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
include(GNUInstallDirs)

# ccache sees paths relative to the build folder, so that build/dev, build/release and other clones share what they
# compiled; no compiler option may therefore depend on SECTILE_STATIC_LLVM.
find_program(SECTILE_CCACHE ccache)
if(SECTILE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${SECTILE_CCACHE})
endif()

include(SectileLlvm) # sectile_llvm
find_package(Threads REQUIRED)

# The interfaces that all our targets share: warnings for our code, system includes for theirs.
add_library(sectile_flags INTERFACE)
target_compile_options(sectile_flags INTERFACE -Wall -Wextra -fvisibility-inlines-hidden
                                               $<$<BOOL:${SECTILE_WERROR}>:-Werror>)
target_include_directories(sectile_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_include_directories(sectile_flags SYSTEM INTERFACE ${PROJECT_BINARY_DIR} ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
if(SECTILE_SANITIZE)
  # LLVM and the code that is compiled at run time are not instrumented: vptr and function checks read what they lack.
  target_compile_options(sectile_flags INTERFACE -fsanitize=${SECTILE_SANITIZE} -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  if(SECTILE_SANITIZE MATCHES undefined)
    target_compile_options(sectile_flags INTERFACE -fno-sanitize=vptr,function)
  endif()
  target_link_options(sectile_flags INTERFACE -fsanitize=${SECTILE_SANITIZE})
endif()
find_program(SECTILE_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR})
if(SECTILE_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_link_options(sectile_flags INTERFACE --ld-path=${SECTILE_LLD})
elseif(SECTILE_LLD)
  get_filename_component(lld_folder ${SECTILE_LLD} DIRECTORY)
  target_link_options(sectile_flags INTERFACE -fuse-ld=lld -B${lld_folder})
elseif(SECTILE_STATIC_LLVM)
  message(FATAL_ERROR "SECTILE_STATIC_LLVM needs the linker ld.lld: install lld-22")
endif()

# sectile_library(name sources…): an object library; all of them together make libsectile and what the tests link.
function(sectile_library name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE sectile_flags)
  add_dependencies(${name} SectileTileIncGen SectilePassesIncGen)
  set_property(GLOBAL APPEND PROPERTY SECTILE_LIBRARIES ${name})
endfunction()

# What programs over the internals link (tests, sectile-opt): every object library, LLVM and MLIR.
function(sectile_link_all target)
  get_property(libraries GLOBAL PROPERTY SECTILE_LIBRARIES)
  target_link_libraries(${target} PRIVATE sectile_flags ${libraries} sectile_llvm Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# sectile_test(name sources…): a Catch2 program over the internals, registered with ctest.
function(sectile_test name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE sectile_catch)
  sectile_link_all(${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()
