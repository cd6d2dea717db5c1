# Finds what the project builds on. ./setup brings the slow ones into a cache outside the tree; whoever has
# them elsewhere points CMAKE_PREFIX_PATH there and sets PT_USE_SETUP_CACHE=OFF.
option(PT_USE_SETUP_CACHE "Look for dependencies in the cache that ./setup fills" ON)
if(PT_USE_SETUP_CACHE AND EXISTS ${CMAKE_SOURCE_DIR}/setup)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/setup --print-prefix
                  OUTPUT_VARIABLE pt_deps_prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE pt_deps_result)
  if(pt_deps_result EQUAL 0)
    list(PREPEND CMAKE_PREFIX_PATH ${pt_deps_prefix})
  endif()
endif()

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(SQLite3 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(protobuf_lite REQUIRED IMPORTED_TARGET protobuf-lite)
find_package(CLI11 2.1 REQUIRED)

find_package(dnnl 3 CONFIG REQUIRED)
find_library(PT_ONNX_LIBRARY onnx REQUIRED)
find_library(PT_ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
find_path(PT_ONNX_INCLUDE onnx/onnx_pb.h REQUIRED)
add_library(pt_onnx_dependency INTERFACE)
target_include_directories(pt_onnx_dependency SYSTEM INTERFACE ${PT_ONNX_INCLUDE})
target_compile_definitions(pt_onnx_dependency INTERFACE ONNX_NAMESPACE=partitiontuner_onnx ONNX_ML=1 ONNX_USE_LITE_PROTO=1)
target_link_libraries(pt_onnx_dependency INTERFACE ${PT_ONNX_LIBRARY} ${PT_ONNX_PROTO_LIBRARY} PkgConfig::protobuf_lite)

if(PT_BUILD_TESTS)
  find_package(Catch2 3 REQUIRED)
endif()
