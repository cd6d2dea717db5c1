// Part of oneDNN as ./setup builds it, in the place of five of its files: reorders between types that nothing of ours has.
// Where a list is empty oneDNN says that it has no such reorder.
#include "cpu/reorder/cpu_reorder.hpp"

namespace dnnl {
namespace impl {
namespace cpu {
namespace {

const impl_list_map_t& None() {
  static const impl_list_map_t none;
  return none;
}

}  // namespace

const impl_list_map_t& regular_fp4_impl_list_map() { return None(); }
const impl_list_map_t& regular_fp8_impl_list_map() { return None(); }
const impl_list_map_t& regular_s4_impl_list_map() { return None(); }
const impl_list_map_t& regular_u4_impl_list_map() { return None(); }
const impl_list_map_t& comp_bf16_s8_impl_list_map() { return None(); }

}  // namespace cpu
}  // namespace impl
}  // namespace dnnl
