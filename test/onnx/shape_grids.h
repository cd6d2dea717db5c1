// Nodes whose outputs' sizes follow from attributes and small constants, as grids: an operator a row or more, in the
// line form of graphs, where {a|b|c} stands for each of its parts in turn (a part may be empty or hold several lines).
// Everything that the last line makes is an output. What a grid's combinations make no sense of, kernels refuse.
#pragma once

#include <string_view>

namespace pt::testing {

struct ShapeGrid {
  std::string_view op;
  std::string_view text;
  bool open =
      false;  // whether inference may leave sizes open: they depend on data, or libonnx refuses some of the cases
};

inline constexpr ShapeGrid kWindowGrids[] = {
    {"Conv", R"(
input x float32[2,2,{1|4|7},6]
const w float32[3,2,{1|3},2] random 1
y = Conv(x, w) {|kernel_shape=[3,2]} {|strides=[2,1]|strides=[3,2]} {|dilations=[2,1]|dilations=[3,2]} {|pads=[1,0,2,1]|pads=[0,2,0,0]|auto_pad="SAME_UPPER"|auto_pad="SAME_LOWER"|auto_pad="VALID"|auto_pad="NOTSET"|auto_pad=""})"},
    {"Conv", R"(
input x float32[1,4,{5|8},3,4]
const w float32[6,2,2,1,3] random 1
y = Conv(x, w) group=2 {|strides=[2,1,2]|strides=[1,3,1]} {|pads=[1,0,1,1,0,2]|auto_pad="SAME_LOWER"})"},
    {"ConvInteger", R"(
input x uint8[1,2,{3|6},5]
const w uint8[4,2,2,3] whole 1
y = ConvInteger(x, w) {|strides=[2,1]|strides=[2,3]} {|dilations=[2,1]} {|pads=[1,0,2,1]|auto_pad="SAME_UPPER"|auto_pad="VALID"})"},
    {"QLinearConv", R"(
input x uint8[1,2,{3|6},5]
const w uint8[4,2,2,3] whole 1
const s float32[] value 0.5
const z uint8[] value 3
y = QLinearConv(x, s, z, w, s, z, s, z) {|strides=[2,1]|strides=[2,3]} {|dilations=[2,1]} {|pads=[1,0,2,1]|auto_pad="SAME_UPPER"|auto_pad="VALID"})"},
    {"ConvTranspose", R"(
input x float32[2,2,{1|2|3|5}]
const w float32[2,3,{1|2|3}] random 1
y = ConvTranspose(x, w) {|strides=[2]|strides=[3]} {|dilations=[2]} {|output_padding=[1]|output_padding=[2]} {|pads=[1,1]|pads=[0,2]|auto_pad="VALID"|auto_pad="SAME_UPPER"|auto_pad="SAME_LOWER"|auto_pad="NOTSET"|output_shape=[7]|output_shape=[8] auto_pad="SAME_UPPER"|output_shape=[8] auto_pad="SAME_LOWER"})"},
    {"ConvTranspose", R"(
input x float32[1,4,3,{2|5}]
const w float32[4,1,2,3] random 1
y = ConvTranspose(x, w) {|group=2|group=4} {|kernel_shape=[2,3]} {|strides=[2,1]|strides=[2,3]} {|output_padding=[1,0]} {|pads=[0,1,1,0]|auto_pad="SAME_UPPER"|auto_pad="SAME_LOWER"|output_shape=[6,7]})"},
    {"DeformConv", R"(
input x float32[1,2,{4|6},5]
const w float32[3,2,2,2] random 1
input o float32[1,8,{3|5|6},{4|6}]
y = DeformConv(x, w, o) {|pads=[0,0,0,0]|pads=[1,1,1,1]|pads=[0,1,0,1]} {|strides=[1,1]} {|kernel_shape=[2,2]})"},
    {"MaxPool", R"(
input x float32[1,1,{1|2|3|4|5|6|7|8|9}]
y, i = MaxPool(x) kernel_shape=[{1|2|3}] {|strides=[2]|strides=[3]|strides=[4]} {|dilations=[2]} {|ceil_mode=1} {|pads=[1,1]|pads=[0,1]|pads=[1,0]|pads=[2,2]|auto_pad="VALID"|auto_pad="SAME_UPPER"|auto_pad="SAME_LOWER"})"},
    {"AveragePool", R"(
input x float32[1,1,{1|2|3|4|5|6|7|8|9}]
y = AveragePool(x) kernel_shape=[{1|2|3}] {|strides=[2]|strides=[3]|strides=[4]} {|dilations=[2]} {|ceil_mode=1} {|count_include_pad=1} {|pads=[1,1]|pads=[0,1]|pads=[1,0]|pads=[2,2]|auto_pad="VALID"|auto_pad="SAME_UPPER"|auto_pad="SAME_LOWER"})"},
    {"LpPool", R"(
input x float32[1,1,{1|2|3|4|5|6|7|8|9}]
y = LpPool(x) kernel_shape=[{1|2|3}] {|strides=[2]|strides=[3]|strides=[4]} {|dilations=[2]} {|ceil_mode=1} {|pads=[1,1]|pads=[0,1]|pads=[1,0]|pads=[2,2]|auto_pad="VALID"|auto_pad="SAME_UPPER"|auto_pad="SAME_LOWER"})"},
    {"MaxPool", R"(
{|opset 10
|opset 8
}input x float32[2,3,{5|8},6]
y = MaxPool(x) kernel_shape=[3,2] {|strides=[2,3]} {|pads=[1,0,1,1]|auto_pad="SAME_UPPER"} {|storage_order=1})"},
    {"AveragePool", R"(
{|opset 11
|opset 7
}input x float32[2,3,{5|8},6,4]
y = AveragePool(x) kernel_shape=[3,2,2] {|strides=[2,3,1]} {|pads=[1,0,0,1,1,1]|auto_pad="SAME_LOWER"|auto_pad="VALID"})"},
    {"GlobalAveragePool", "input x float32[2,3,{5|8},6]\ny = {GlobalAveragePool|GlobalMaxPool|GlobalLpPool}(x)"},
    {"MaxUnpool", R"(
input x float32[1,1,2,{2|3}]
input i int64[1,1,2,{2|3}]
y = MaxUnpool(x, i) kernel_shape=[2,2] {|strides=[2,2]|strides=[1,2]|strides=[3,3]} {|pads=[1,0,0,1]|pads=[0,0,0,0]})"},
    {"MaxUnpool", R"(
input x float32[1,1,2,2]
input i int64[1,1,2,2]
const s int64[4] ints 1 1 {4|5} {4|6}
y = MaxUnpool(x, i, s) kernel_shape=[2,2] {|strides=[2,2]} {|pads=[1,0,0,1]})"},
    {"Col2Im", R"(
input x float32[2,{4|12},{4|6|9|12|20}]
const image int64[2] ints {4|5} {5|6}
const block int64[2] ints 2 2
y = Col2Im(x, image, block) {|strides=[2,1]|strides=[2,2]} {|dilations=[2,1]} {|pads=[1,0,1,0]})"},
    {"RoiAlign", R"(
input x float32[2,3,6,7]
input r float32[{1|4},4]
const b int64[{1|4}] zeros
y = RoiAlign(x, r, b) {|output_height=2|output_height=3 output_width=2} {|mode="max"} {|sampling_ratio=2})"},
    {"GridSample", R"(
input x float32[2,3,6,7]
input g float32[2,{1|4},5,2]
y = GridSample(x, g) {|align_corners=1} {|padding_mode="border"|padding_mode="reflection"})"},
    {"GridSample", R"(
input x float32[2,3,6,7,2]
input g float32[2,{1|4},5,2,3]
y = GridSample(x, g) {|mode="nearest"})"},
    {"AffineGrid", R"(
input t float32[2,{2,3|3,4}]
const s int64[{4] ints 2 3 5 6|5] ints 2 3 4 5 6|4] ints 2 1 1 7}
y = AffineGrid(t, s) {|align_corners=1})"},
};

inline constexpr ShapeGrid kResizeGrids[] = {
    {"Resize", R"(
{|opset 13
}input x float32[1,2,{3|5|10},{4|7|10}]
const r float32[8] floats 0 0 {0|0.25} 0.2 1 1 {1|0.75} 0.9
const s float32[4] floats 1 1 {0.5|0.7|1|1.3|2} {0.6|1.25|2.5}
y = Resize(x, r, s) {|coordinate_transformation_mode="align_corners"|coordinate_transformation_mode="asymmetric"|coordinate_transformation_mode="pytorch_half_pixel"|coordinate_transformation_mode="tf_crop_and_resize"})"},
    {"Resize", R"(
input x float32[1,2,{5|10},7]
const r float32[8] floats 0 0 {0|0.25} 0.2 1 1 {1|0.75} 0.9
const s float32[4] floats 1 1 {0.5|1.3|2} {0.6|2.5}
y = Resize(x, r, s) {mode="linear"|mode="cubic"|mode="linear" antialias=1} {|coordinate_transformation_mode="half_pixel_symmetric"|coordinate_transformation_mode="tf_crop_and_resize"})"},
    {"Resize", R"(
input x float32[2,2,{3|5|10},{4|7}]
const s int64[4] ints {1|2} 2 {1|3|7|11} {3|9|16}
y = Resize(x, _, _, s) {|keep_aspect_ratio_policy="stretch"|keep_aspect_ratio_policy="not_larger"|keep_aspect_ratio_policy="not_smaller"} {|mode="linear"})",
     true},
    {"Resize", R"(
input x float32[1,2,{3|5|10},{4|7}]
const s int64[2] ints {1|3|7|11} {3|9|16}
y = Resize(x, _, _, s) {axes=[2,3]|axes=[3,2]|axes=[-2,-1]|axes=[1,3]} {|keep_aspect_ratio_policy="not_larger"|keep_aspect_ratio_policy="not_smaller"})",
     true},
    {"Resize", R"(
input x float32[1,2,{3|5|10},{4|7}]
const r float32[4] floats {0|0.25} 0.2 {1|0.75} 0.9
const s float32[2] floats {0.5|1.3|2} {0.6|2.5}
y = Resize(x, r, s) {axes=[2,3]|axes=[3,2]|axes=[-2,-1]|axes=[1,3]} {|coordinate_transformation_mode="tf_crop_and_resize"})"},
    {"Resize", R"(
input x float32[1,2,{5|10},7]
const r float32[8] floats 0 0 0.25 0.2 1 1 0.75 0.9
const s int64[4] ints 1 2 {1|3|7} {3|9}
y = Resize(x, r, _, s) coordinate_transformation_mode="tf_crop_and_resize" {|extrapolation_value=2.0})"},
    {"Resize", R"(
opset 10
input x float32[1,2,{5|10},7]
const s float32[4] floats 1 1 {0.5|0.7|1.3|2} {0.6|2.5}
y = Resize(x, s) {|mode="linear"})"},
    {"Resize", R"(
opset 11
input x float32[1,2,{5|10},7]
const r float32[{0] zeros|8] floats 0 0 0.25 0.2 1 1 0.75 0.9}
const s float32[{0] zeros|4] floats 1 1 0.7 2.5}
const n int64[4] ints 1 2 {3|9} 4
y = Resize(x, r, {s|s, n}) {|coordinate_transformation_mode="tf_crop_and_resize"})"},
    {"Upsample", R"(
opset 9
input x float32[1,2,{5|10},7]
const s float32[4] floats 1 1 {1|1.3|2} {1.6|2.5}
y = Upsample(x, s) {|mode="linear"})"},
    {"Upsample", R"(
opset 7
input x float32[1,2,{5|10},7]
y = Upsample(x) scales=[1.0,1.0,{1.0|1.3|2.0},{1.6|2.5}] {|mode="linear"})"},
    {"CenterCropPad", R"(
input x float32[{5|6},4,{7|3}]
{const s int64[3] ints 4 4 5
y = CenterCropPad(x, s)|const s int64[2] ints 3 8
y = CenterCropPad(x, s) axes=[0,2]|const s int64[1] ints 9
y = CenterCropPad(x, s) axes=[-2]|const s int64[2] ints 8 3
y = CenterCropPad(x, s) axes=[2,0]})"},
};

inline constexpr ShapeGrid kMovementGrids[] = {
    {"Slice", R"(
input x float32[5,{1|4}]
const starts int64[1] ints {-9|-5|-2|0|3|5|9}
const ends int64[1] ints {-9|-5|-2|0|3|5|9|9223372036854775807}
const axes int64[1] ints {0|-2}
const steps int64[1] ints {-3|-1|1|2|7}
y = Slice(x, starts, ends, axes, steps))"},
    {"Slice", R"(
input x float32[5,4,3]
const starts int64[2] ints {0|-3} {1|2}
const ends int64[2] ints {4|-1} {2|100}
const axes int64[2] ints {0 1|2 0|-1 -3}
y = Slice(x, starts, ends{|, axes}))"},
    {"Slice", R"(
opset 9
input x float32[5,4,3]
y = Slice(x) starts=[{0|-3},{1|2}] ends=[{4|-1},{2|100}] {|axes=[0,1]|axes=[2,0]|axes=[-1,0]})",
     true},
    {"Pad", R"(
input x float32[{3|5},4]
const p int64[4] ints {0|2|-1} {0|-2} {0|1|-2} {0|3}
y = Pad(x, p) {|mode="reflect"|mode="edge"|mode="wrap"})"},
    {"Pad", R"(
input x float32[3,4,5]
const p int64[4] ints {1|-1} {0|2} 1 {-2|2}
const v float32[] value 1
const axes int64[2] ints {0 2|2 1|-1 -3}
y = Pad(x, p, v, axes) {|mode="edge"})"},
    {"Pad",
     "opset 10\ninput x float32[3,4]\ny = Pad(x) pads=[{1|-1},0,2,{-2|2}] {|mode=\"reflect\"|mode=\"edge\"} "
     "{|value=1.5}"},
    {"Concat", R"(
input a float32[2,3,4]
input b float32[{2,3,4|2,1,4|5,3,4|2,3,0}]
y = Concat(a, b{|, a}) axis={0|1|2|-1|-2|-3})"},
    {"Split", R"(
input x float32[{6|7},{4|5}]
a, b{|, c} = Split(x) {|axis=1|axis=-1|axis=-2} {num_outputs=2|num_outputs=3})"},
    {"Split", R"(
input x float32[6,5]
const s int64[2] ints {2 4|1 4|3 2|0 5|6 0}
a, b = Split(x, s) {|axis=1|axis=-1})"},
    {"Split", "opset 11\ninput x float32[6,5]\na, b = Split(x) {axis=1 |axis=-1 |}{split=[2,4]|split=[1,4]|}"},
    {"Tile", "input x float32[{2|0},3]\nconst r int64[2] ints {0|1|3} {1|2}\ny = Tile(x, r)"},
    {"Expand", R"(
input x float32[{3,1|1|3,4|1,1,4|}]
const s int64[{2] ints 3 4|3] ints 2 1 4|1] ints 1|3] ints 2 3 4|0] ints|2] ints 0 4}
y = Expand(x, s))"},
    {"Transpose", "input x float32[2,3,4]\ny = Transpose(x) {|perm=[0,1,2]|perm=[2,0,1]|perm=[1,2,0]}"},
    {"DepthToSpace", "input x float32[1,{4|8|9|12},{2|4},6]\ny = DepthToSpace(x) blocksize={1|2|3} {|mode=\"CRD\"}"},
    {"SpaceToDepth", "input x float32[1,2,{4|6},6]\ny = SpaceToDepth(x) blocksize={1|2|3}"},
    {"Reshape", R"(
input x float32[{2,3,4|0,3,4|24|6,0}]
const s int64[{2] ints 4 6|2] ints -1 6|3] ints 0 -1 2|3] ints 0 0 -1|2] ints 0 -1|1] ints -1|0] ints|2] ints 3 0|4] ints 2 1 -1 4}
y = Reshape(x, s) {|allowzero=1})"},
    {"Reshape", "opset 4\ninput x float32[2,3,4]\ny = Reshape(x) shape={[4,6]|[-1,6]|[0,-1]}", true},
    {"Flatten",
     "input x float32[2,{3|0},4,5]\ny = Flatten(x) {|axis=0|axis=1|axis=2|axis=3|axis=4|axis=-1|axis=-2|axis=-4}"},
    {"Flatten", "input x float32[{|3}]\ny = Flatten(x) axis={0|1|-1}"},
    {"Squeeze", "input x float32[1,3,1,{1|2}]\ny = Squeeze(x)"},
    {"Squeeze",
     "input x float32[1,3,1,1]\nconst a int64[{1] ints 0|1] ints -1|2] ints 0 2|2] ints -2 0|0] ints|3] ints 3 0 2}\ny "
     "= Squeeze(x, a)"},
    {"Squeeze", "opset 11\ninput x float32[1,3,1,1]\ny = Squeeze(x) {|axes=[0]|axes=[-1]|axes=[3,0]}"},
    {"Unsqueeze",
     "input x float32[{2,3|}]\nconst a int64[{1] ints 0|1] ints -1|2] ints 0 2|2] ints -2 0|2] ints 3 0|3] ints 4 1 "
     "0|0] ints}\ny = Unsqueeze(x, a)"},
    {"Unsqueeze", "opset 11\ninput x float32[2,3]\ny = Unsqueeze(x) axes={[0]|[2]|[-1]|[0,3]|[3,1]}"},
    {"Shape",
     "input x float32[2,3,4]\ny = Shape(x) {|start=1|start=-2|start=7|start=-9} {|end=2|end=-1|end=0|end=9|end=-9}"},
    {"Size", "input x float32[2,{0|3}]\ny = Size(x)"},
    {"Gather",
     "input x float32[4,5,6]\nconst i int64[{|2|2,3|0}] zeros\ny = Gather(x, i) {|axis=1|axis=2|axis=-1|axis=-3}"},
    {"GatherElements",
     "input x float32[4,5]\nconst i int64[{4,5|2,3|1,5|4,0}] zeros\ny = GatherElements(x, i) {|axis=1|axis=-1}"},
    {"GatherND",
     "input x float32[2,3,4,5]\nconst i int64[2,{3,1|3,2|3,3|1|2|4}] zeros\ny = GatherND(x, i) "
     "{|batch_dims=1|batch_dims=2}"},
    {"OneHot",
     "input i int64[{2,3|4|}]\nconst d int64[{|1}] value {1|5}\nconst v float32[2] floats 0 1\ny = OneHot(i, d, v) "
     "{|axis=0|axis=1|axis=-1|axis=-2}",
     true},
    {"TopK",
     "input x float32[4,5]\nconst k int64[1] ints {0|1|4}\ny, i = TopK(x, k) {|axis=0|axis=1|axis=-2} {|largest=0} "
     "{|sorted=0}"},
    {"TopK", "opset 9\ninput x float32[4,5]\ny, i = TopK(x) k={1|3} {|axis=0|axis=1|axis=-1}"},
    {"Compress", "input x float32[4,5]\nconst c bool[{2|4|5}] random 3\ny = Compress(x, c) {|axis=0|axis=1|axis=-1}",
     true},
    {"NonZero", "input x float32[{|4|4,5}]\ny = NonZero(x)", true},
    {"Unique", "input x float32[4,5]\ny, i, j, c = Unique(x) {|axis=0|axis=1|axis=-1} {|sorted=0}", true},
    {"Unique", "input x float32[4,5]\ny = Unique(x) {|axis=0|axis=-2}", true},
    {"ReverseSequence",
     "input x float32[4,5]\nconst n int64[{4|5}] value 1\ny = ReverseSequence(x, n) {|batch_axis=0 "
     "time_axis=1|batch_axis=1 time_axis=0}"},
    {"Trilu", "input x float32[2,{3|5},4]\nconst k int64[] value {0|2|-1}\ny = Trilu(x{|, k}) {|upper=0}"},
    {"EyeLike", "input x float32[{3,4|4,3|1,1}]\ny = EyeLike(x) {|k=1|k=-2} {|dtype=7|dtype=6}"},
    {"ScatterElements",
     "input x float32[4,5]\nconst i int64[2,3] zeros\ninput u float32[2,3]\ny = ScatterElements(x, i, u) "
     "{|axis=1|axis=-1} {|reduction=\"add\"|reduction=\"max\"}"},
    {"ScatterND",
     "input x float32[4,5]\nconst i int64[2,{1|2}] zeros\ninput u float32[2{|,5}]\ny = ScatterND(x, i, u) "
     "{|reduction=\"mul\"}"},
    {"TensorScatter",
     "input x float32[2,5,3]\ninput u float32[2,2,3]\nconst i int64[2] ints 0 1\ny = TensorScatter(x, u, i) "
     "{|axis=1|axis=-2} {|mode=\"circular\"}"},
    {"BitCast", "opset 26\ninput x float32[4,6]\ny = BitCast(x) to={6|12}"},
    {"Cast", "input x float32[4,6]\ny = Cast(x) to={1|2|6|7|9|10|11|16} {|saturate=0}"},
};

inline constexpr ShapeGrid kReductionGrids[] = {
    {"Reduce", R"(
input x float32[2,{3|0},4]
const a int64[{1] ints 0|1] ints -1|2] ints 0 2|2] ints -2 1|0] ints}
y = {ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceSumSquare}(x, a) {|keepdims=0} {|noop_with_empty_axes=1})"},
    {"Reduce", R"(
input x float32[2,3,4]
y = {ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceSumSquare}(x) {|keepdims=0} {|noop_with_empty_axes=1})"},
    {"Reduce", R"(
opset 11
input x float32[2,3,4]
y = {ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceSumSquare}(x) {|axes=[0]|axes=[-1]|axes=[0,2]|axes=[-2,0]} {|keepdims=0})"},
    {"ArgMax",
     "input x float32[2,3,4]\ny = {ArgMax|ArgMin}(x) {|axis=1|axis=2|axis=-1|axis=-3} {|keepdims=0} "
     "{|select_last_index=1}"},
    {"CumSum",
     "opset 26\ninput x float32[2,3]\nconst a int64[{|1}] value {0|1|-1}\ny = {CumSum|CumProd}(x, a) {|exclusive=1} "
     "{|reverse=1}"},
    {"Softmax", "{|opset 11\n}input x float32[2,3,4]\ny = {Softmax|LogSoftmax|Hardmax}(x) {|axis=0|axis=1|axis=-1}"},
    {"LayerNormalization", R"(
input x float32[2,3,4]
{const s float32[4] ones
y, m, v = LayerNormalization(x, s)|const s float32[3,4] ones
y, m, v = LayerNormalization(x, s) axis=1|const s float32[3,4] ones
y, m, v = LayerNormalization(x, s) axis=-2|const s float32[2,3,4] ones
y, m, v = LayerNormalization(x, s) axis=0|const s float32[4] ones
y = RMSNormalization(x, s)|const s float32[3,4] ones
y = RMSNormalization(x, s) axis=1})"},
    {"GroupNormalization",
     "input x float32[2,6,{5|3,4}]\nconst s float32[6] ones\ny = GroupNormalization(x, s, s) num_groups={1|2|3}"},
    {"BatchNormalization", R"(
input x float32[2,3,{4|4,5}]
const s float32[3] ones
{y = BatchNormalization(x, s, s, s, s)|y, m, v = BatchNormalization(x, s, s, s, s) training_mode=1})"},
    {"InstanceNormalization", "input x float32[2,3,4]\nconst s float32[3] ones\ny = InstanceNormalization(x, s, s)"},
    {"LpNormalization",
     "input x float32[2,3,4]\ny = {LpNormalization(x) axis=1 p=1|MeanVarianceNormalization(x) axes=[0,2]|LRN(x) "
     "size=3}"},
    {"NegativeLogLikelihoodLoss", R"(
input x float32[3,4{|,2,5}]
const t int64[3{|,2,5}] zeros
y = NegativeLogLikelihoodLoss(x, t) {|reduction="none"|reduction="sum"})"},
    {"SoftmaxCrossEntropyLoss", R"(
input x float32[3,4{|,2,5}]
const t int64[3{|,2,5}] zeros
y, l = SoftmaxCrossEntropyLoss(x, t) {|reduction="none"|reduction="sum"})"},
    {"Dropout", "input x float32[3,4]\ny, m = Dropout(x)"},
};

inline constexpr ShapeGrid kProductGrids[] = {
    {"MatMul",
     "input a float32[{3|2,3|1,2,3|5,2,3|4,1,2,3}]\ninput b float32[{3|3,4|5,3,4|1,3,4|6,3,1}]\ny = MatMul(a, b)"},
    {"MatMulInteger", "input a uint8[{2,3|1,2,3|5,2,3}]\ninput b int8[{3,4|5,3,4|1,3,4}]\ny = MatMulInteger(a, b)"},
    {"QLinearMatMul", R"(
input a uint8[{2,3|1,2,3|5,2,3}]
input b uint8[{3,4|5,3,4|1,3,4}]
const s float32[] value 0.5
const z uint8[] value 3
y = QLinearMatMul(a, s, z, b, s, z, s, z))"},
    {"Gemm", R"(
input a float32[{2,3|3,2}]
input b float32[{3,4|4,3}]
{y = Gemm(a, b)|const c float32[4] ones
y = Gemm(a, b, c)|const c float32[2,1] ones
y = Gemm(a, b, c)|const c float32[] ones
y = Gemm(a, b, c)} {|transA=1} {|transB=1})"},
    {"Einsum",
     "input a float32[2,3,4]\ninput b float32[2,4,5]\ny = Einsum(a, b) "
     "equation=\"{bij,bjk->bik|bij,bjk->ik|bij,bjk|bij,cjk->bcik|bij,bjk->|b...j,bj...->b...|bij, bjk -> kib}\""},
    {"Einsum",
     "input a float32[{3,3|2,2,2}]\ny = Einsum(a) "
     "equation=\"{ii|ii->i|iii->i|ij->ji|...i->i...|...->...|...ii->...i}\""},
    {"Add",
     "input a float32[{|1|3|2,1|2,3|4,1,3}]\ninput b float32[{|1|3|2,3|1,3|0,1,1}]\ny = "
     "{Add|Pow|Max|Sum|Mean|PRelu|Equal|Less|Mod}(a, b) "},
    {"Where",
     "const c bool[{|3|2,1}] random 1\ninput a float32[{|3|4,1,3}]\ninput b float32[{1|2,3}]\ny = Where(c, a, b)"},
    {"QuantizeLinear", R"(
input x float32[4,6]
{const s float32[] value 0.5
y = QuantizeLinear(x, s)|const s float32[6] ones
y = QuantizeLinear(x, s)|const s float32[4] ones
y = QuantizeLinear(x, s) axis=0|const s float32[4,2] ones
y = QuantizeLinear(x, s) axis=1 block_size=3|const s float32[] ones
y = QuantizeLinear(x, s) output_dtype=3|const s float32[] ones
y, z, w = DynamicQuantizeLinear(x)})"},
    {"DequantizeLinear", R"(
input x uint8[4,6]
{const s float32[] value 0.5
y = DequantizeLinear(x, s)|const s float16[6] ones
y = DequantizeLinear(x, s)|const s float32[4] ones
y = DequantizeLinear(x, s) axis=-2|const s float32[2,6] ones
y = DequantizeLinear(x, s) axis=0 block_size=2|const s float32[] ones
y = DequantizeLinear(x, s) output_dtype=10})"},
    {"DequantizeLinear",
     "input x uint8[6]\nconst s float32[{1|2|3|6}] ones\ny = DequantizeLinear(x, s) axis=0 "
     "{|block_size=2|block_size=3}"},
    {"CastLike", "input x float32[4,6]\ninput t {int64|float16|bool}[{1|2,3}]\ny = CastLike(x, t)"},
    {"Clip", "input x float32[{|4,6}]\nconst a float32[] value 0\ny = {Clip(x)|Clip(x, a)|Clip(x, _, a)}"},
    {"Det", "input x float32[{3,3|2,3,3|2,4,3,3}]\ny = Det(x)"},
};

inline constexpr ShapeGrid kSequenceGrids[] = {
    {"LSTM", R"(
{input x float32[5,2,3]
const w float32[1,16,3] random 1
const r float32[1,16,4] random 2
y, h, c = LSTM(x, w, r) hidden_size=4 |input x float32[5,2,3]
const w float32[1,16,3] random 1
const r float32[1,16,4] random 2
y, h = LSTM(x, w, r) |input x float32[5,2,3]
const w float32[1,16,3] random 1
const r float32[1,16,4] random 2
_, h, c = LSTM(x, w, r) hidden_size=4 }{|direction="reverse"} {|layout=1} {|input_forget=1})"},
    {"LSTM", R"(
input x float32[5,2,3]
const w float32[2,16,3] random 1
const r float32[2,16,4] random 2
y, h, c = LSTM(x, w, r) hidden_size=4 direction="bidirectional" {|layout=1})"},
    {"GRU", R"(
input x float32[5,2,3]
const w float32[{1,12,3|2,12,3}] random 1
const r float32[{1,12,4|2,12,4}] random 2
y, h = GRU(x, w, r) hidden_size=4 {|direction="reverse"|direction="bidirectional"} {|layout=1} {|linear_before_reset=1})"},
    {"RNN", R"(
input x float32[5,2,3]
const w float32[{1,4,3|2,4,3}] random 1
const r float32[{1,4,4|2,4,4}] random 2
{y, h|y|_, h} = RNN(x, w, r) hidden_size=4 {|direction="reverse"|direction="bidirectional"} {|layout=1})"},
    {"Attention", R"(
input q float32[2,4,3,8]
input k float32[2,{4|2},5,8]
input v float32[2,{4|2},5,6]
{y = Attention(q, k, v)|y = Attention(q, k, v) is_causal=1 softcap=2.0|y, _, _, s = Attention(q, k, v)|y, _, _, s = Attention(q, k, v) qk_matmul_output_mode=3})"},
    {"Attention", R"(
input q float32[2,3,16]
input k float32[2,5,{16|8}]
input v float32[2,5,{12|8}]
y{|, _, _, s} = Attention(q, k, v) q_num_heads=4 kv_num_heads={4|2})"},
    {"Attention", R"(
input q float32[2,4,3,8]
input k float32[2,2,5,8]
input v float32[2,2,5,6]
const m {bool[3,9] ones|float32[2,1,3,9] zeros}
input pk float32[2,2,4,8]
input pv float32[2,2,4,6]
y, p, o{|, s} = Attention(q, k, v, m, pk, pv))"},
    {"Attention", R"(
input q float32[2,3,32]
input k float32[2,5,16]
input v float32[2,5,12]
const m {bool[3,9] ones|float32[2,1,3,9] zeros}
input pk float32[2,2,4,8]
input pv float32[2,2,4,6]
y, p, o{|, s} = Attention(q, k, v, m, pk, pv) q_num_heads=4 kv_num_heads=2)"},
    {"Attention", R"(
input q float32[2,4,3,8]
input k float32[2,2,5,8]
input v float32[2,2,5,6]
y{|, p, o} = Attention(q, k, v) q_num_heads=4 kv_num_heads=2 {|is_causal=1})"},
    {"LinearAttention", R"(
opset 27
input q float32[2,3,{16|32}]
input k float32[2,3,16]
input v float32[2,3,{12|16}]
y, s = LinearAttention(q, k, v) q_num_heads={2|4} kv_num_heads=2 update_rule="linear")"},
    {"CausalConvWithState", R"(
opset 27
input x float32[2,3,{1|5}]
input w float32[3,1,{1|4}]
y, s = CausalConvWithState(x, w) {|activation="silu"})"},
    {"SwiGLU", "opset 28\ninput a float32[{3|2,3}]\ninput b float32[{3|2,3}]\ny = SwiGLU(a, b)"},
    {"RotaryEmbedding", R"(
input x float32[2,{4,3,8|3,32}]
const c float32[2,3,{4|2}] ones
y = RotaryEmbedding(x, c, c) {|num_heads=4} {|rotary_embedding_dim=4} {|interleaved=1})"},
    {"STFT", R"(
input x float32[2,{32|40},{1|2}]
const s int64[] value {4|8|5}
{const w float32[16] ones
y = STFT(x, s, w)|const l int64[] value 8
y = STFT(x, s, _, l)|const w float32[16] ones
const l int64[] value 16
y = STFT(x, s, w, l)} {|onesided=0|onesided=1})"},
    {"DFT", R"(
input x float32[2,{8|9},5,{1|2}]
{const l int64[] value 12
const a int64[] value 1
y = DFT(x, l, a)|const a int64[] value 1
y = DFT(x, _, a)|const a int64[] value -3
y = DFT(x, _, a)|const l int64[] value 3
y = DFT(x, l)|y = DFT(x)} {|inverse=1} {|onesided=1})"},
    {"DFT",
     "opset 17\ninput x float32[2,{8|9},5,{1|2}]\nconst l int64[] value {6|12}\ny = DFT(x{|, l}) "
     "{|axis=1|axis=2|axis=-2} {|inverse=1} {|onesided=1}"},
    {"MelWeightMatrix", R"(
const n int64[] value {4|8}
const d int64[] value {16|17}
const r int64[] value 8192
const l float32[] value 0
const u float32[] value 4000
y = MelWeightMatrix(n, d, r, l, u) {|output_datatype=11})"},
    {"HannWindow",
     "const n int64[] value {1|7}\ny = {HannWindow|HammingWindow|BlackmanWindow}(n) {|periodic=0} "
     "{|output_datatype=11|output_datatype=6}"},
    {"Range",
     "const a int64[] value {0|5|-3}\nconst b int64[] value {0|4|10|-7}\nconst d int64[] value {1|3|-2}\ny = Range(a, "
     "b, d)"},
    {"Range",
     "const a float32[] value {0|0.5}\nconst b float32[] value {1|0.7|-1}\nconst d float32[] value {0.1|0.3|-0.25}\ny "
     "= Range(a, b, d)"},
    {"NonMaxSuppression", R"(
input b float32[1,6,4]
input s float32[1,2,6]
const m int64[] value {0|2}
y = NonMaxSuppression(b, s, m) {|center_point_box=1})",
     true},
    {"ConstantOfShape", "const s int64[{2] ints 3 4|0] ints|3] ints 2 0 1}\ny = ConstantOfShape(s)"},
    {"Scatter",
     "opset 10\ninput x float32[4,5]\nconst i int64[2,3] zeros\ninput u float32[2,3]\ny = Scatter(x, i, u) "
     "{|axis=1|axis=-1}"},
    {"RandomNormal", "y = {RandomNormal|RandomUniform}() shape={[2,3]|[4]} {|dtype=11}"},
    {"RandomNormalLike", "input x float32[2,3]\ny = {RandomNormalLike|RandomUniformLike|Bernoulli}(x) {|dtype=11}"},
    {"Multinomial", "input x float32[2,3]\ny = Multinomial(x) {|sample_size=5} {|dtype=7}"},
    {"Identity", "input x float32[{|2,0,3}]\ny = {Identity|Relu|Shrink|Erf|IsNaN|Celu|Gelu|Not}(x)"},
};

// Sizes that are worked out of the input's dims, which inference follows as far as it knows them.
inline constexpr ShapeGrid kComputedGrids[] = {
    {"Resize", R"(
input x float32[2,3,{4|5},6]
const zero int64[1] ints 0
const two int64[1] ints 2
const four int64[1] ints 4
s = Shape(x)
front = Slice(s, zero, two)
hw = Slice(s, two, four)
{const t int64[2] ints 8 9|t = Mul(hw, two)|t = Add(hw, two)|t = Div(hw, two)}
sizes = Concat(front, t) axis=0
y = Resize(x, _, _, sizes) {|keep_aspect_ratio_policy="not_larger"|keep_aspect_ratio_policy="not_smaller"})",
     true},
    {"Resize", R"(
input x float32[2,3,{4|5},6]
const two int64[1] ints 2
const four int64[1] ints 4
s = Shape(x)
hw = Slice(s, two, four)
t = Mul(hw, two)
y = Resize(x, _, _, t) axes=[2,3] {|keep_aspect_ratio_policy="not_larger"})",
     true},
    {"Reshape", R"(
input x float32[2,3,4,{6|0}]
const zero int64[1] ints 0
const two int64[1] ints 2
const minus int64[1] ints -1
s = Shape(x)
front = Slice(s, zero, two)
t = Concat({front, minus|minus, two|front, two, minus}) axis=0
y = Reshape(x, t) {|allowzero=1})",
     true},
    {"Expand", R"(
input x float32[2,{3|1},4]
input v float32[{1|4|3,1}]
s = Shape(x){| start=1}
y = {Expand(v, s)|ConstantOfShape(s)})",
     true},
    {"Tile", "input x float32[{2,3|1,2}]\ns = Shape(x)\ny = Tile(x, s)", true},
    {"Slice", R"(
input x float32[{5|2},4,3]
const zero int64[1] ints 0
const one int64[1] ints 1
const axis int64[1] ints {0|1|-1}
s = Shape(x)
a = Slice(s, zero, one)
{const n int64[1] ints 2|n = Sub(a, one)|n = Neg(a)}
y = Slice(x, {zero, n|n, a}, axis))",
     true},
    {"Pad", R"(
input x float32[{2|3},4]
s = Shape(x)
const none int64[2] ints 0 0
p = Concat({none, s|s, none}) axis=0
y = Pad(x, p))",
     true},
    {"Range", R"(
input x float32[{2|3},4]
const a int64[] value 0
const i int64[] value {0|1}
const d int64[] value {1|2}
s = Shape(x)
n = Gather(s, i)
y = Range(a, n, d))",
     true},
    {"Split", R"(
input x float32[{4|6},4]
const i int64[1] ints 0
const two int64[1] ints 2
s = Shape(x)
n = Gather(s, i)
m = Sub(n, two)
t = Concat(two, m) axis=0
a, b = Split(x, t))",
     true},
    {"OneHot", R"(
input x float32[{4|6},4]
input i int64[2,3]
const at int64[1] ints 0
const v float32[2] floats 0 1
s = Shape(x)
n = Gather(s, at)
y = OneHot(i, n, v) {|axis=0})",
     true},
    {"TopK", R"(
input x float32[{4|6},7]
const at int64[1] ints 0
s = Shape(x)
n = Gather(s, at)
y, i = TopK(x, n))",
     true},
    {"CenterCropPad", R"(
input x float32[{4|6},7]
const at int64[2] ints 1 0
s = Shape(x)
n = Gather(s, at)
y = CenterCropPad(x, n))",
     true},
    {"Unsqueeze", R"(
input x float32[{4|6},7]
const none int64[1] ints {0|1|-1}
u = Unsqueeze(x, none)
s = Shape(u)
z = Squeeze(s)
y = {Reshape(x, z)|Reshape(u, z)|Squeeze(u)|Flatten(u)})",
     true},
    {"Size", R"(
input x float32[{4|6},7]
n = Size(x)
const shape int64[1] ints -1
t = Reshape(n, shape)
y = {Reshape(x, t)|ConstantOfShape(t)})",
     true},
};

}  // namespace pt::testing
