# Read by oneDNN's own CMake at its project() line (./setup passes it as CMAKE_PROJECT_INCLUDE) to build it in about half
# of the time without touching its sources: files that none of the enabled primitives reaches are left out, and the
# headers that nearly all others read are compiled once. Written for the version that ./setup names; a file that is missed
# shows when libpartitiontuner is linked. Unity builds are no way: macros such as GET_OFF mean other structures from file to
# file, and one that leaks compiles silently into kernels with wrong offsets.
set(pt_unreached  # backward passes and primitives that ./setup does not enable
    batch_normalization\\.cpp batch_normalization_s8 jit_uni_group_normalization jit_uni_instance_normalization
    /ref_group_normalization /ncsp_group_normalization sparse_matmul prelu_backward prelu_reduction
    jit_brgemm_conv_bwd_w jit_avx512_core_resampling brgemm_api /rnn/ /gemm_inner_product\\.cpp gemm_bf16_inner_product
    gemm_x8s8s32x_inner_product /ref_inner_product jit_brgemm_inner_product /ref_shuffle jit_uni_shuffle /simple_sum
    jit_uni_xf16_sum cpu_batch_normalization_utils
    # types that have no reorders (OneDnnEmptyReorders.cpp)
    cpu_reorder_regular_fp4 cpu_reorder_regular_fp8 cpu_reorder_regular_s4 cpu_reorder_regular_u4 cpu_reorder_comp_bf16_s8)
set(pt_empty_reorders ${CMAKE_CURRENT_LIST_DIR}/OneDnnEmptyReorders.cpp)
set(pt_common_headers common/dnnl_thread.hpp common/primitive.hpp common/type_helpers.hpp common/utils.hpp
    common/verbose.hpp)
set(pt_cpu_headers ${pt_common_headers} cpu/cpu_engine.hpp cpu/cpu_primitive.hpp cpu/platform.hpp cpu/ref_io_helper.hpp
    cpu/simple_q10n.hpp)
set(pt_x64_headers ${pt_cpu_headers} cpu/x64/brgemm/brgemm.hpp cpu/x64/injectors/jit_uni_postops_injector.hpp
    cpu/x64/jit_generator.hpp)

function(pt_shorten_target target)
  list(JOIN pt_unreached "|" unreached)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "${unreached}")
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
  list(TRANSFORM ARGN PREPEND "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/src/")
  list(TRANSFORM ARGN APPEND ">")
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

function(pt_shorten_build)
  target_sources(dnnl_cpu PRIVATE ${pt_empty_reorders})
  pt_shorten_target(dnnl_common ${pt_common_headers})
  pt_shorten_target(dnnl_cpu ${pt_cpu_headers})
  pt_shorten_target(dnnl_cpu_x64 ${pt_x64_headers})
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL pt_shorten_build)
