# Finds what the project builds on. ./setup brings the slow ones into a cache outside the tree; whoever has
# them elsewhere points CMAKE_PREFIX_PATH there and sets PT_USE_SETUP_CACHE=OFF.
option(PT_USE_SETUP_CACHE "Look for dependencies in the cache that ./setup fills" ON)
set(pt_deps_prefix "")
if(PT_USE_SETUP_CACHE AND EXISTS ${PROJECT_SOURCE_DIR}/setup)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/setup --print-prefix
                  OUTPUT_VARIABLE pt_deps_prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE pt_deps_result)
  if(pt_deps_result EQUAL 0)
    list(PREPEND CMAKE_PREFIX_PATH ${pt_deps_prefix})
  endif()
endif()

# pt_need(CONDITION_VARIABLE WHAT): ends the configuration with one clear line if WHAT was not found.
macro(pt_need variable what)
  if(NOT ${variable})
    message(FATAL_ERROR "${what} was not found. Run ./setup once: it installs what is missing. "
                        "If you have it elsewhere, point CMAKE_PREFIX_PATH there.")
  endif()
endmacro()

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
pt_need(PKG_CONFIG_FOUND "pkg-config")
find_package(nlohmann_json 3.11 QUIET)
pt_need(nlohmann_json_FOUND "nlohmann-json >= 3.11")
find_package(Eigen3 3.4 QUIET NO_MODULE)
pt_need(Eigen3_FOUND "Eigen >= 3.4")
find_package(SQLite3 3.37 QUIET)
pt_need(SQLite3_FOUND "SQLite >= 3.37")
find_package(CLI11 2.1 QUIET)
pt_need(CLI11_FOUND "CLI11 >= 2.1")
pkg_check_modules(hwloc QUIET IMPORTED_TARGET hwloc)
pt_need(hwloc_FOUND "hwloc")
pkg_check_modules(xxhash QUIET IMPORTED_TARGET libxxhash)
pt_need(xxhash_FOUND "xxHash")
pkg_check_modules(protobuf_lite QUIET IMPORTED_TARGET protobuf-lite)
pt_need(protobuf_lite_FOUND "Protocol Buffers (lite runtime)")

# The oneDNN built by ./setup, or the prebuilt one that ./setup --quick fetched until the former is there.
if(PT_BACKEND_ONEDNN)
  set(pt_quick_prefix ${pt_deps_prefix}/quick)
  if(dnnl_DIR MATCHES "^${pt_quick_prefix}/")
    unset(dnnl_DIR CACHE)
  endif()
  find_package(dnnl 3 CONFIG QUIET)
  if(NOT dnnl_FOUND AND PT_USE_SETUP_CACHE AND EXISTS ${pt_deps_prefix}/done/quick)
    find_package(TBB QUIET PATHS ${pt_quick_prefix} NO_DEFAULT_PATH)
    find_package(dnnl 3 CONFIG QUIET PATHS ${pt_quick_prefix} NO_DEFAULT_PATH)
    link_directories(${pt_quick_prefix}/lib)
    # The prebuilt library names its own libraries without saying where they are. Old dynamic tags: unlike RUNPATH, RPATH
    # is searched for these too.
    add_link_options(-Wl,--allow-shlib-undefined -Wl,--disable-new-dtags -Wl,-rpath,${pt_quick_prefix}/lib)
  endif()
  pt_need(dnnl_FOUND "oneDNN >= 3 (-DPT_BACKEND_ONEDNN=OFF builds without)")
endif()

if(PT_BACKEND_ONEDNN OR PT_BACKEND_HOST_KERNELS OR PT_BACKEND_RECURRENT)
  pkg_check_modules(hwy QUIET IMPORTED_TARGET libhwy>=1.0)
  pt_need(hwy_FOUND "Highway >= 1.0 (without: -DPT_BACKEND_ONEDNN=OFF -DPT_BACKEND_HOST_KERNELS=OFF -DPT_BACKEND_RECURRENT=OFF)")
endif()

# libonnx, static, in a C++ namespace of its own: nothing of it may meet another ONNX in the same process.
find_library(PT_ONNX_LIBRARY onnx)
find_library(PT_ONNX_PROTO_LIBRARY onnx_proto)
find_path(PT_ONNX_INCLUDE onnx/onnx_partitiontuner_onnx-ml.pb.h)
pt_need(PT_ONNX_LIBRARY "libonnx")
pt_need(PT_ONNX_PROTO_LIBRARY "libonnx_proto")
pt_need(PT_ONNX_INCLUDE "libonnx built with ONNX_NAMESPACE=partitiontuner_onnx")
add_library(pt_onnx_dependency INTERFACE)
target_include_directories(pt_onnx_dependency SYSTEM INTERFACE ${PT_ONNX_INCLUDE})
target_compile_definitions(pt_onnx_dependency INTERFACE ONNX_NAMESPACE=partitiontuner_onnx ONNX_ML=1 ONNX_USE_LITE_PROTO=1)
target_link_libraries(pt_onnx_dependency INTERFACE ${PT_ONNX_LIBRARY} ${PT_ONNX_PROTO_LIBRARY} PkgConfig::protobuf_lite)

if(PT_BUILD_TESTS)
  find_package(Catch2 3 QUIET)
  pt_need(Catch2_FOUND "Catch2 >= 3 (tests; -DPT_BUILD_TESTS=OFF builds without)")
endif()
