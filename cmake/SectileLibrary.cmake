# libsectile.so from all object libraries, and its installation.

# What the library shows. One that shares LLVM with others must share MLIR's identities of types, too.
set(SECTILE_EXPORTS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
if(NOT SECTILE_STATIC_LLVM)
  list(APPEND SECTILE_EXPORTS ${PROJECT_SOURCE_DIR}/cmake/type_ids.map)
endif()

get_property(libraries GLOBAL PROPERTY SECTILE_LIBRARIES)
add_library(sectile SHARED ${SECTILE_EXPORTS})
set_target_properties(sectile PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                                         SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                         LINK_DEPENDS "${SECTILE_EXPORTS}"
                                         LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
                                         INSTALL_RPATH_USE_LINK_PATH ON)
target_link_libraries(sectile PRIVATE $<BUILD_INTERFACE:sectile_flags> ${libraries} $<BUILD_INTERFACE:sectile_llvm>
                                      Threads::Threads ${CMAKE_DL_LIBS})
list(TRANSFORM SECTILE_EXPORTS PREPEND -Wl,--version-script= OUTPUT_VARIABLE version_scripts)
target_link_options(sectile PRIVATE ${version_scripts})
if(SECTILE_SANITIZE)
  target_link_options(sectile INTERFACE $<BUILD_INTERFACE:-fsanitize=${SECTILE_SANITIZE}>) # programs bring the runtime
else()
  target_link_options(sectile PRIVATE -Wl,-z,defs) # a library that is missing in SectileLlvm.cmake shows here
endif()
if(SECTILE_STATIC_LLVM)
  target_link_options(sectile PRIVATE -Wl,-s)
endif()
target_compile_features(sectile PUBLIC cxx_std_20)
target_include_directories(sectile PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                          $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(Sectile::sectile ALIAS sectile)

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Sectile)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SectileConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/SectileConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SectileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS sectile EXPORT SectileTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT SectileTargets NAMESPACE Sectile:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/SectileConfig.cmake ${PROJECT_BINARY_DIR}/SectileConfigVersion.cmake
        DESTINATION ${package_folder})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
