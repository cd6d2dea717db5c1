# Which public headers are installed, by who needs them. All others serve the tools and tests of this source tree, and may
# change with any version. test/structure/installed_headers_test.cc holds the lists to what includes what.

# Applications: what partitiontuner.h includes.
set(pt_application_tier
    partitiontuner.h version.h
    backend/backend.h backend/device_state.h backend/devices.h
    candidate/candidate.h candidate/layout.h candidate/precision.h candidate/quantisation.h candidate/signature.h
    cost/cost_model.h cost/estimate.h cost/profile.h
    engine/arrivals.h engine/carried_runs.h engine/engine.h engine/error_budget.h engine/finalists.h engine/memory_front.h
    engine/model.h engine/npy.h engine/plan_file.h engine/plan_options.h engine/rate_plan.h
    engine/request_setting.h engine/request_tally.h engine/run_buffers.h engine/several_models.h
    engine/shaped_sessions.h engine/submit_tensors.h
    exec/cancel_token.h exec/lent_buffer.h exec/machine.h exec/pins.h exec/request_queue.h exec/session.h exec/trace.h
    graph/data_type.h graph/datum.h graph/graph.h graph/tensor.h
    onnx/load_onnx.h
    plan/dispatch_plan.h plan/lending.h plan/plan.h
    planner/bounds.h planner/planner.h planner/planning_watch.h
    platform/platform.h
    profiler/measure.h
    support/hash.h support/json.h support/latency_histogram.h support/limits.h support/random.h
    support/recently_used.h support/result.h support/strong_id.h
    transform/constant_inputs.h transform/rewrites.h)

# Plugins, besides: backend/plugin.h, and what those of this source tree are written with, which an installed package is
# enough to build.
set(pt_plugin_tier
    backend/attention_pattern.h backend/backends.h backend/elementwise_groups.h backend/islands.h backend/plugin.h
    backend/recurrent_node.h backend/window_parameters.h
    candidate/device_calls.h candidate/group_graph.h candidate/run_time_sizes.h
    graph/graph_builder.h graph/half.h graph/linear_quantisation.h
    graph/operators/attention.h graph/operators/attribute_lists.h graph/operators/axis.h graph/operators/einsum.h
    graph/operators/elementwise.h
    graph/operators/gemm.h graph/operators/movements.h graph/operators/named_types.h graph/operators/normalizations.h
    graph/operators/or_refuse.h graph/operators/recurrence.h graph/operators/reductions.h graph/operators/repetition.h
    graph/operators/resize.h graph/operators/sampling.h graph/operators/selections.h graph/operators/softmax.h
    graph/operators/views.h graph/operators/windows.h
    graph/uses.h
    onnx/save_onnx.h
    platform/asynchronous_device.h platform/discover.h platform/platform_fields.h
    support/aligned_bytes.h support/checked.h support/fields.h support/file.h)
