# Run at build time: writes OUTPUT, a C++ string literal that changes whenever a source of the compiler does.
#   cmake -DROOT=<source folder> -DOUTPUT=<file> -P BuildId.cmake
file(GLOB_RECURSE sources ${ROOT}/compiler/*.cpp ${ROOT}/compiler/*.h ${ROOT}/compiler/*.td ${ROOT}/include/*.h)
list(SORT sources)
set(digests "")
foreach(source IN LISTS sources)
  file(SHA256 ${source} digest)
  file(RELATIVE_PATH name ${ROOT} ${source})
  string(APPEND digests "${name} ${digest}\n")
endforeach()
string(SHA256 digest "${digests}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "\"${digest}\"\n") # left alone when it is the same
