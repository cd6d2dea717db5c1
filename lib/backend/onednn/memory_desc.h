// Between the project's layouts and oneDNN's memory descriptors.
#pragma once

#include <optional>
#include <string>

#include "oneapi/dnnl/dnnl.hpp"
#include "partitiontuner/candidate/layout.h"

namespace pt::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

// Types that oneDNN's reorders know; nullopt for others.
std::optional<dnnl::memory::data_type> TypeOf(DataType type);

// The descriptor of a tensor that may be a slice of a bigger one; a tensor of rank 0 gets the dims
// {1}. kUnsupported where oneDNN has no such format. Layouts that differ only in where dims of 1 stand have one
// descriptor: channels-last for a single pixel, else row-major where it is one of them.
Result<Desc> DescOf(const TensorLayout& tensor);
// Of an operator that turns one of these tensors into the other: a single pixel stands in the order of `like`.
Result<Desc> DescOf(const TensorLayout& tensor, const TensorLayout& like);
// Row-major and dense.
Desc PlainDesc(const Dims& dims, DataType type = DataType::kFloat32);
// Format left open, for the primitive to choose.
Desc AnyDesc(const Dims& dims, DataType type = DataType::kFloat32);

// With leading dims of 1 up to `rank`; only row-major tensors may grow. Others are returned as they
// are.
TensorLayout WithRank(const TensorLayout& tensor, size_t rank);
// The same bytes under other dims; the tensor must be row-major and dense unless the dims stay
// equal.
Result<Desc> ReshapedDesc(const TensorLayout& tensor, const Dims& dims);

// Stable text of a descriptor, part of the keys of packed weights:
// "f32[64,3,7,7]/[..strides..]/16b..".
std::string DescText(const Desc& desc);

// The block of channels that suits this processor's vectors.
uint32_t PreferredBlock();

}  // namespace pt::onednn
