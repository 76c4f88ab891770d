"""The keys of each program's configuration: what a layout takes from them, and which change nothing.

Taken from the sources of the programs as of August 2026: Megatron-LM (megatron/training/arguments.py and the classes
of its configuration), torchtitan (torchtitan/config/configs.py, and the TOML of 2025), DeepSpeed (deepspeed/runtime),
and the classes of arguments of accelerate, transformers, TRL, LLaMA-Factory, axolotl, verl and MaxText.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase

_LONGEST_KEY = 100
_WEAK_MARKS = {"micro_batch_size", "global_batch_size", "seq_length"}  # of which one alone tells nothing
_OFF: tuple[object, ...] = ("auto", "none", "null", "no", "", "???", -1, [], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramKeys:
    """The keys of the configurations of a program, as `table.key`; a key stands for all that is below it.

    Each *used* key has what it sets: a field of a layout, `batch`, `chunk`, `gpus`, `stack.…`, which is a setting of
    the stack that trains, or `-` where the reader of the program makes something of it. *harmless* ones, in which *
    stands for any letters, change neither time nor memory. *usual* are values that change nothing of keys that else
    would. One of the *marks*, or a key below it, tells the program.
    """

    program: str
    stack: str
    marks: Set[str]
    used: Mapping[str, str]
    harmless: Set[str]
    usual: Set[tuple[str, str]]

    def marked(self, given: Set[str]) -> bool:
        """Whether a configuration with the paths *given* is one of the program."""
        found = {one for path in given for one in _parents(path)} & self.marks
        return len(found) > 1 or bool(found - _WEAK_MARKS)

    def is_used(self, path: str) -> bool:
        """Whether something is taken from the key *path*."""
        return any(one in self.used for one in _parents(path))

    def is_harmless(self, path: str) -> bool:
        """Whether the key *path* is known to change nothing."""
        return not self.is_used(path) and any(
            one in self.harmless or any(fnmatchcase(one, form) for form in self.harmless if "*" in form)
            for one in _parents(path[:_LONGEST_KEY])
        )

    def unknown(self, given: Mapping[str, object]) -> list[str]:
        """The settings of *given* that are on, and are neither used nor harmless."""
        return [
            path[:_LONGEST_KEY]
            for path, value in given.items()
            if is_set(value)
            and (path, str(value).lower()) not in self.usual
            and not (self.is_used(path) or self.is_harmless(path))
        ]


def _parents(path: str) -> Iterator[str]:
    """The key *path*, and each that it is below of."""
    yield path
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


def is_set(value: object) -> bool:
    """Whether a setting is on: an object with a device, a number above 1, text, or true."""
    if isinstance(value, Mapping):
        return value.get("device", "none") not in {"none", None}
    off = value is None or value is False or value in _OFF or (isinstance(value, str) and value.lower() in _OFF)
    return value is True or not (off or value in (0, 1))


def flat_settings(given: Mapping[str, object], above: str = "") -> dict[str, object]:
    """The settings of *given* by their path; those of a table that is not enabled are left out."""
    found: dict[str, object] = {}
    for name, value in given.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and value:
            if value.get("enabled") is not False and value.get("enable") is not False:
                found |= flat_settings(value, f"{path}.")
        else:
            found[path] = value
    return found


def _keys(text: str) -> Iterator[str]:
    """The words of *text*; one with a colon is the table of the keys that follow it."""
    table = ""
    for word in text.split():
        if word.endswith(":"):
            table = f"{word[:-1]}."
        else:
            yield table + word


def _words(text: str) -> Set[str]:
    return frozenset(_keys(text))


def _used(text: str) -> Mapping[str, str]:
    """Keys with what they set, as `key=effect`; a key alone is one of which the reader makes something."""
    pairs = (word.partition("=") for word in _keys(text))
    return {key: effect or "-" for key, _, effect in pairs}


def _usual(text: str) -> Set[tuple[str, str]]:
    return frozenset((key, value) for key, _, value in (word.partition("=") for word in _keys(text)))


DEEPSPEED = ProgramKeys(
    program="a DeepSpeed JSON",
    stack="DeepSpeed",
    marks=_words("zero_optimization train_batch_size train_micro_batch_size_per_gpu"),
    used=_used("""
        train_batch_size=batch train_micro_batch_size_per_gpu=micro_batch gradient_accumulation_steps=microbatches
        sequence_parallel_size=context pipeline.stages=pipeline bfloat16.enabled torch_autocast.enabled amp.enabled
        optimizer.type=stack.optimizer data_types.grad_accum_dtype=stack.gradients
        zero_optimization: stage=zero_stage offload_optimizer offload_param cpu_offload cpu_offload_param
            mics_shard_size=shard_ranks
        tensor_parallel: autotp_size=tensor tp_size=tensor
        bf16: enabled bf16_master_weights_and_grads bf16_optimizer_states
        fp16: enabled fp16_master_weights_and_grads
    """),
    harmless=_words("""
        steps_per_print wall_clock_breakdown dump_state gradient_clipping prescale_gradients scheduler tensorboard
        wandb comet csv_monitor monitor_config flops_profiler comms_logger checkpoint seed
        zero_allow_untested_optimizer zero_force_ds_cpu_optimizer gradient_predivide_factor gradient_allreduce_op
        memory_breakdown optimizer.params.* optimizer.legacy_fusion dataloader_drop_last aio elasticity autotuning
        hybrid_engine log_level vocabulary_size sparse_gradients tensor_parallel.tp_grain_size
        managed_gradient_accumulation eigenvalue
        fp16: loss_scale loss_scale_window initial_scale_power hysteresis min_loss_scale consecutive_hysteresis
            auto_cast
        bf16: check_overflow immediate_grad_update
        torch_autocast: dtype lower_precision_safe_modules
        amp: opt_level loss_scale
        zero_optimization: contiguous_gradients reduce_scatter allgather_partitions round_robin_gradients
            sub_group_size *gather_16bit_weights_on_model_save *gather_fp16_weights_on_model_save *max_live_parameters
            *max_reuse_distance legacy_stage1 ignore_unused_parameters load_from_fp32_weights elastic_checkpoint
            pipeline_loading_checkpoint log_trace_cache_warnings enable_sanity_checks
        activation_checkpointing: synchronize_checkpoint_boundary profile
    """),
    usual=_usual("zero_optimization.overlap_comm=true communication_data_type=bf16 communication_data_type=fp16"),
)

_TITAN_HARMLESS = """
    job profiling profiler metrics checkpoint comm fault_tolerance debug lr_scheduler validation validator
    experimental dataloader tokenizer hf_assets_path dump_folder quantize.linear.float8.* memory_estimation
    optimizer: lr eps beta1 beta2 weight_decay implementation early_step_in_backward
    training: dataset dataset_path max_norm steps seed gc_freq gc_debug deterministic warmup_steps enable_opus_backend
    model: tokenizer_path hf_assets_path norm_type print_after_conversion
    compile: components backend
    activation_checkpoint: early_stop per_op_sac_force_recompute_mm_shapes_by_fqns memory_budget_visualizer
        visualize_memory_budget_pareto preserve_rng_state determinism_check debug
    parallelism: context_parallel_rotate_method context_parallel_load_balancer spmd_backend
        pipeline_parallel_split_points pipeline_parallel_expert_parallel_overlap
"""
TORCHTITAN = ProgramKeys(
    program="a configuration of torchtitan",
    stack="torchtitan",
    marks=_words("""
        parallelism activation_checkpoint model.flavor
        training: local_batch_size num_tokens_per_microbatch_per_dp_rank seq_len max_context_length
    """),
    used=_used("""
        optimizer.name=stack.optimizer compile.enable=stack.compiled
        parallelism: tensor_parallel_degree=tensor pipeline_parallel_degree=pipeline context_parallel_degree=context
            expert_parallel_degree=expert expert_tensor_parallel_degree=expert_tensor
            pipeline_parallel_layers_per_stage=chunk data_parallel_replicate_degree data_parallel_shard_degree
            pipeline_parallel_microbatch_size pipeline_parallel_schedule num_pp_microbatches
            fsdp_reshard_after_forward
        training: local_batch_size batch_size global_batch_size=batch seq_len=sequence
            num_tokens_per_microbatch_per_dp_rank num_tokens_per_train_step max_context_length=sequence dtype
            enable_cpu_offload
        activation_checkpoint: mode selective_ac_option per_op_sac
        model: name flavor converters
    """),
    harmless=_words(_TITAN_HARMLESS),
    usual=_usual("""
        parallelism.enable_sequence_parallel=true
        training: mixed_precision_param=bfloat16 mixed_precision_reduce=float32
    """),
)

MEGATRON = ProgramKeys(
    program="arguments of Megatron-LM",
    stack="Megatron",
    marks=_words("""
        tensor_model_parallel_size pipeline_model_parallel_size micro_batch_size global_batch_size seq_length
        context_parallel_size expert_model_parallel_size model_parallel_size
    """),
    used=_used("""
        tensor_model_parallel_size=tensor pipeline_model_parallel_size=pipeline context_parallel_size=context
        expert_model_parallel_size=expert expert_tensor_parallel_size=expert_tensor
        num_virtual_stages_per_pipeline_rank=virtual virtual_pipeline_model_parallel_size=virtual
        micro_batch_size=micro_batch global_batch_size=batch seq_length=sequence encoder_seq_length=sequence
        decoder_first_pipeline_num_layers=first_layers decoder_last_pipeline_num_layers=last_layers
        num_layers_in_first_pipeline_stage=first_layers num_layers_in_last_pipeline_stage=last_layers
        num_layers_per_virtual_pipeline_stage=chunk world_size=gpus use_distributed_optimizer sequence_parallel
        recompute_granularity recompute_method recompute_num_layers recompute_activations
        activations_checkpoint_granularity activations_checkpoint_method activations_checkpoint_num_layers
        checkpoint_activations bf16 fp16 params_dtype fp8 fp8_format fp8_recipe fp4 fp4_format fp4_recipe
        use_megatron_fsdp use_custom_fsdp use_torch_fsdp2 data_parallel_sharding_strategy
        torch_fsdp2_no_reshard_after_forward optimizer=stack.optimizer attention_backend=stack.attention
        use_flash_attn grad_reduce_in_bf16 grad_reduce_in_fp32 accumulate_allreduce_grads_in_fp32
        main_grads_dtype=stack.gradients exp_avg_dtype=stack.moments exp_avg_sq_dtype use_precision_aware_optimizer
        optimizer_cpu_offload optimizer_offload_fraction main_params_dtype num_layers hidden_size num_attention_heads
        num_query_groups group_query_attention kv_channels ffn_hidden_size swiglu gated_linear_unit vocab_size
        padded_vocab_size untie_embeddings_and_output_weights normalization add_bias_linear disable_bias_linear
        add_qkv_bias qk_layernorm position_embedding_type use_rotary_position_embeddings rotary_base
        max_position_embeddings num_experts num_moe_experts moe_router_topk moe_ffn_hidden_size
        moe_shared_expert_intermediate_size moe_layer_freq moe_router_enable_expert_bias multi_latent_attention
        kv_lora_rank q_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim hybrid_override_pattern
        hybrid_layer_pattern linear_attention_freq mtp_num_layers activation bias share_embeddings_and_output_weights
        transformer_block_type precision
    """),
    harmless=_words("""
        adam_* *_eps *epsilon adlr_autoresume* lr lr_* min_lr decoupled_* weight_decay* start_weight_decay
        end_weight_decay wd_* wsd_* clip_grad lion_* muon_* sgd_momentum soap_* adaptive_muon_* loss_scale*
        initial_loss_scale min_loss_scale hysteresis warmup apply_wd_* no_weight_decay* override_opt_param_scheduler
        use_checkpoint_opt_param_scheduler head_lr_mult train_iters train_samples train_epochs exit_* eval_*
        start_eval_at_iter skip_train iterations_to_skip full_validation multiple_validation_sets validation_*
        manual_gc* test_mode train_sync_interval empty_unused_memory_level decrease_batch_size_if_needed
        gpu_sniff_test_interval check_weight_hash* log_* timing_log* tensorboard_* wandb_* mlflow_* comet_*
        logging_level one_logger* no_one_logger enable_one_logger otel_* throughput_window_size memory_keys
        runtime_time_unit app_tag_run_* save save_* load load_* no_save_* no_load_* non_persistent_* ckpt_*
        dist_ckpt_* use_dist_ckpt finetune pretrained_checkpoint most_recent_k auto_detect_ckpt_format async_*
        *fully_parallel_* use_checkpoint_args use_mp_args* use_tokenizer_model* exit_on_missing_checkpoint
        strict_fsdp_dtensor_load replication* use_persistent_ckpt_worker override_ckpt_iteration verify_integrity
        *data_path *_data_path data_args_path data_cache_path data_impl data_sharding no_data_sharding split mock_data
        dataloader_* num_workers vocab_file merge_file vocab_extra_ids tokenizer* *tokenizer_* special_tokens
        tiktoken_* null_tokenizer_* chat_template trust_remote_code make_vocab_size_divisible_by pad_vocab_size
        reset_* eod_mask_loss fim_* per_split_data_args_path num_dataset_builder_threads *mmap_bin_files
        object_storage_cache_path create_attention_mask_in_dataloader no_create_attention_mask_in_dataloader
        mid_level_dataset_surplus seed *rng_tracker data_parallel_random_init init_method* embedding_init*
        *_init_method* perform_initialization use_cpu_initialization init_model_with_meta_device profile*
        use_pytorch_profiler use_nsys_profiler pytorch_profiler_* record_* memory_snapshot_path nvtx_ranges
        distributed_backend distributed_timeout* local_rank rank lazy_mpu_init nccl_communicator_config_path
        use_tp_pp_dp_mapping use_gloo_process_groups no_use_gloo* enable_gloo* flight_recorder_* rerun_*
        error_injection_* inprocess_* check_for_* no_check_for_* straggler_* disable_straggler* enable_straggler* ft_*
        enable_ft_package calc_ft_timeouts enable_msc disable_msc enable_experimental config_logger_dir hidden_dropout
        attention_dropout dropout* *_dropout rotary_* rope_* use_rope_scaling no_rope_* apply_rope_fusion
        no_rope_fusion mscale* beta_fast beta_slow yarn_* original_max_position_embeddings no_position_embedding
        apply_query_key_layer_scaling attention_softmax_in_fp32 layernorm_* apply_layernorm_1p softmax_scale
        apply_residual_connection_post_layernorm openai_gelu transformer_impl use_mcore_models use_legacy_models spec
        bias_*_fusion no_bias_*_fusion masked_softmax_fusion no_masked_softmax_fusion persist_layer_norm
        no_persist_layer_norm gradient_accumulation_fusion no_gradient_accumulation_fusion memory_efficient_layer_norm
        cross_entropy_loss_fusion cross_entropy_fusion_impl fused_* overlap_grad_reduce overlap_param_gather
        overlap_p2p_comm* no_overlap_p2p_communication batch_p2p_* align_* no_align_* *_comm_backend ddp_*
        calculate_per_token_loss average_in_collective bucket_size *average_in_collective gradient_reduce_div_fusion
        no_gradient_reduce_div_fusion moe_router_load_balancing_type moe_aux_loss_coeff moe_z_loss_coeff
        moe_router_score_function moe_router_dtype moe_router_pre_softmax moe_router_topk_scaling_factor
        moe_router_num_groups moe_router_group_topk moe_router_bias_update_rate moe_input_jitter_eps
        moe_per_layer_logging moe_grouped_gemm moe_permute_fusion moe_router_fusion moe_token_dispatcher_type
        moe_enable_deepep moe_router_force_load_balancing moe_use_upcycling moe_token_drop_policy moe_routing_trace*
        hysteresis rl_* grpo_* inference_* langrl_* img_* dino_* vision_* retriever_* bert_* biencoder_* ict_* swin_*
        logits_* kitchen_* iter_per_epoch onnx_safe data_per_class_fraction classes_fraction mask_* patch_dim
        num_channels num_classes titles_data_path query_in_block_prob sample_rate short_seq_prob tool_* fp8_margin
        fp8_interval fp8_amax* fp8_wgrad no_fp8_wgrad mtp_loss_scaling_factor name resume* restore* exp_manager
        exp_dir explicit_log_dir devices num_nodes accelerator trainer.* run cluster rank_* transformer_pipeline_*
        data.* optim.* scheduler.* megatron_amp_O2 gc_interval nsys_profile peft.* data_parallel_size heterogeneous_*
        yaml_cfg encoder_num_layers decoder_num_layers decoder_seq_length encoder_* filter_warnings modules_to_filter
        store_param_remainders *pin_cpu_* fsdp_all_gather_in_start_param_sync softmax_type tp_comm_bulk_*
        tp_comm_split_* tp_comm_atomic_* tp_comm_overlap_* cpu_offloading_* qk_clip_* dsa_* linear_conv_* linear_key_*
        linear_value_* linear_num_* moe_flex_* moe_hybridep_* moe_deepep_* moe_*_dtype cuda_graph_* mhc_*
        clone_scatter_* batch_invariant_* mamba_* gdp_* min_offloaded_* moe_paged_stash_* deterministic_mode
        deallocate_pipeline_outputs *_func activation_func* glu_linear_offset mup_* *_func fake_process_group
        dump_param_* indexer_* embedding_path grad_norm_skip_threshold
    """),
    usual=_usual("""
        fp8_param_gather=false cp_comm_type=['p2p'] cp_comm_type=p2p params_dtype=torch.bfloat16
        transformer_impl=transformer_engine outer_dp_sharding_strategy=no_shard
        megatron_fsdp_main_params_dtype=torch.float32
    """),
)

_TRAINING_ARGUMENTS = """
    per_device_train_batch_size=micro_batch gradient_accumulation_steps=microbatches gradient_checkpointing bf16 fp16
    optim=stack.optimizer torch_compile=stack.compiled attn_implementation=stack.attention use_liger_kernel deepspeed
    fsdp fsdp_config model_name_or_path max_seq_length=sequence max_length=sequence model_max_length=sequence
    load_in_4bit use_peft lora_r=stack.adapter_rank torch_dtype dtype
"""
_TRAINING_HARMLESS = """
    output_dir overwrite_output_dir do_* *learning_rate *_epochs num_train_epochs max_steps warmup_* lr_* *_scheduler*
    weight_decay max_grad_norm adam_* logging_* report_to run_name save_* eval_* evaluation_* load_best_model_at_end
    metric_for_best_model greater_is_better seed data_seed dataloader_* dataset* *_dataset* push_to_hub* hub_*
    remove_unused_columns ddp_* local_rank disable_tqdm include_* log_* resume* ignore_data_skip group_by_length
    length_column_name label_* past_index prediction_loss_only per_device_eval_batch_size eval_accumulation_steps
    preprocessing_* template trust_remote_code packing neat_packing packing_strategy padding_free tokenizer* *_token
    *_tokens cache_dir model_revision use_fast_tokenizer streaming stage plot_loss val_size max_samples lora_alpha
    lora_dropout lora_target* use_rslora use_dora neftune* beta *_beta *_loss loss_type pref_* dpo_* kto_* simpo_*
    tf32 bf16_full_eval fp16_full_eval project logging_dir trackio* use_cpu no_cuda jit_mode_eval
    half_precision_backend auto_find_batch_size full_determinism torch_empty_cache_steps average_tokens_across_devices
    gradient_checkpointing_kwargs torch_compile_* optim_args accelerator_config restore_* completion_only_loss
    assistant_only_loss chat_template* lora_task_type use_reentrant_gc flash_attn_* master_addr master_port ray_*
    bnb_4bit_* use_bnb_nested_quant launcher skip_memory_metrics
"""
TRAINER = ProgramKeys(
    program="arguments of Hugging Face's Trainer",
    stack="eager",
    marks=_words("per_device_train_batch_size"),
    used=_used(_TRAINING_ARGUMENTS),
    harmless=_words(_TRAINING_HARMLESS),
    usual=_usual("optim_target_modules=all"),
)
LLAMA_FACTORY = ProgramKeys(
    program="a configuration of LLaMA-Factory",
    stack="eager",
    marks=_words("finetuning_type cutoff_len"),
    used=_used(f"""
        {_TRAINING_ARGUMENTS} cutoff_len=sequence finetuning_type lora_rank=stack.adapter_rank quantization_bit
        flash_attn=stack.attention enable_liger_kernel disable_gradient_checkpointing pure_bf16
    """),
    harmless=_words(f"""
        {_TRAINING_HARMLESS} media_dir buffer_size mix_strategy interleave_probs tool_format default_system
        enable_thinking preserve_thinking tokenized_path data_shared_file_system train_on_prompt mask_history
        overwrite_cache ignore_pad_token_for_loss low_cpu_mem_usage moe_aux_loss_coef rope_scaling print_param_status
        quantization_method quantization_type double_quantization image_* video_* audio_* crop_to_patches export_*
        infer_* vllm_* sglang_* use_swanlab swanlab_* compute_accuracy disable_shuffling early_stopping_steps
        create_new_adapter adapter_name_or_path adapter_folder ref_model* reward_model* ppo_* temperature top_*
        num_beams repetition_penalty length_penalty max_new_tokens do_sample *_hub_token offload_folder use_kv_cache
        enable_torch_profiler profiler_* pissa_* loraplus_* freeze_vision_tower freeze_multi_modal_projector
        resize_vocab
    """),
    usual=_usual("use_mca=false"),
)
AXOLOTL = ProgramKeys(
    program="a configuration of axolotl",
    stack="eager",
    marks=_words("base_model"),
    used=_used("""
        base_model micro_batch_size=micro_batch gradient_accumulation_steps=microbatches sequence_len=sequence
        optimizer=stack.optimizer adapter lora_r=stack.adapter_rank load_in_4bit load_in_8bit bf16 bfloat16 fp16
        float16 gradient_checkpointing flash_attention sdp_attention xformers_attention eager_attention
        attn_implementation=stack.attention deepspeed fsdp fsdp_config fsdp_version tensor_parallel_size=tensor
        context_parallel_size=context sequence_parallel_degree=context dp_shard_size dp_replicate_size
        torch_compile=stack.compiled liger_fused_linear_cross_entropy cut_cross_entropy chunked_cross_entropy
        liger_cross_entropy world_size=gpus
    """),
    harmless=_words("""
        base_model_config model_type tokenizer* processor* trust_remote_code strict datasets test_datasets dataset_*
        pretraining_dataset shuffle_* val_set_size output_dir hub_* hf_* push_* save_* saves_per_epoch eval_*
        evals_per_epoch sample_packing* pad_to_* eval_sample_packing chat_template* default_system_message eot_tokens
        lora_alpha lora_dropout lora_target_* lora_fan_in_fan_out lora_modules_to_save lora_model_dir peft_* peft.*
        num_epochs max_steps warmup_* learning_rate *_lr lr_* cosine_* weight_decay max_grad_norm adam_* optim_args
        train_on_inputs group_by_length logging_steps use_* wandb_* mlflow_* comet_* trackio_* gradio_* otel_*
        special_tokens tokens added_tokens_overrides early_stopping_patience resume_from_checkpoint
        auto_resume_from_checkpoints local_rank seed debug loss_watchdog_* gradient_checkpointing_kwargs tf32 plugins
        is_*_derived_model rl beta trl dpo_* kto_* orpo_* roles_to_train train_on_eos remove_unused_columns
        dataloader_* xformers_* s2_attention flash_attn_rms_norm liger_rope liger_rms_norm* liger_layer_norm
        liger_swiglu liger_glu_activation gc_steps load_best_model_at_end metric_for_best_model greater_is_better
        ddp_* curriculum_* excess_length_strategy min_sample_len chat_template_kwargs profiler_* lora_mlp_kernel
        lora_qkv_kernel lora_o_kernel include_* low_cpu_mem_usage ring_attn_func heads_k_stride
        overrides_of_model_config revision_of_model multipack_* pretrain_multipack_* flash_attn_fuse_*
        flash_attn_cross_entropy neftune* skip_prepare_dataset
    """),
    usual=_usual("ddp=true experts_implementation=grouped_mm"),
)
ACCELERATE = ProgramKeys(
    program="a YAML of accelerate",
    stack="eager",
    marks=_words("compute_environment distributed_type deepspeed_config.zero_stage megatron_lm_config"),
    used=_used("""
        distributed_type num_processes=gpus num_machines mixed_precision downcast_bf16
        gradient_accumulation_steps=microbatches dynamo_config.dynamo_backend
        deepspeed_config: zero_stage=zero_stage gradient_accumulation_steps=microbatches offload_optimizer_device
            offload_param_device deepspeed_config_file
        fsdp_config: fsdp_sharding_strategy fsdp_reshard_after_forward fsdp_offload_params
            fsdp_activation_checkpointing fsdp_version
        parallelism_config: parallelism_config_tp_size=tensor parallelism_config_cp_size=context
            parallelism_config_sp_size=context parallelism_config_dp_shard_size parallelism_config_dp_replicate_size
        megatron_lm_config: megatron_lm_tp_degree=tensor megatron_lm_pp_degree=pipeline
            megatron_lm_num_micro_batches=microbatches megatron_lm_sequence_parallelism
            megatron_lm_recompute_activations megatron_lm_use_distributed_optimizer
    """),
    harmless=_words("""
        compute_environment debug machine_rank main_process_ip main_process_port main_training_function rdzv_*
        same_network gpu_ids tpu_* use_cpu enable_cpu_affinity command_file commands mpirun_config fp8_config
        megatron_lm_config.megatron_lm_gradient_clipping
        deepspeed_config: zero3_* gradient_clipping deepspeed_multinode_launcher deepspeed_hostfile
            deepspeed_inclusion_filter offload_*_nvme_path deepspeed_exclusion_filter deepspeed_moe_layer_cls_names
        dynamo_config: dynamo_mode dynamo_use_*
        parallelism_config: parallelism_config_*_comm_strategy parallelism_config_*_backend
        fsdp_config: fsdp_auto_wrap_policy fsdp_backward_prefetch* fsdp_forward_prefetch
            fsdp_cpu_ram_efficient_loading fsdp_min_num_params fsdp_state_dict_type fsdp_sync_module_states
            fsdp_transformer_layer_cls_to_wrap fsdp_use_orig_params fsdp_final_state_dict_type
    """),
    usual=_usual(""),
)
VERL = ProgramKeys(
    program="a configuration of verl",
    stack="FSDP2",
    marks=_words("actor_rollout_ref"),
    used=_used("""
        actor_rollout_ref.rollout.n
        actor_rollout_ref.model: path enable_gradient_checkpointing lora_rank=stack.adapter_rank use_liger
            use_fused_kernels
        actor_rollout_ref.actor: strategy ppo_mini_batch_size ppo_micro_batch_size_per_gpu=micro_batch
            ulysses_sequence_parallel_size=context optim.optimizer=stack.optimizer
        actor_rollout_ref.actor.fsdp_config: ulysses_sequence_parallel_size=context param_offload optimizer_offload
            offload_policy fsdp_size=shard_ranks reshard_after_forward model_dtype
        actor_rollout_ref.actor.megatron: tensor_model_parallel_size=tensor pipeline_model_parallel_size=pipeline
            context_parallel_size=context expert_model_parallel_size=expert expert_tensor_parallel_size=expert_tensor
            virtual_pipeline_model_parallel_size=virtual param_offload optimizer_offload grad_offload
            sequence_parallel use_distributed_optimizer
        data: max_prompt_length max_response_length train_batch_size
        trainer: nnodes n_gpus_per_node
    """),
    harmless=_words("""
        data algorithm trainer reward* custom_reward_function critic ray_* global_profiler transfer_queue hydra
        defaults *._target_
        actor_rollout_ref: rollout ref hybrid_engine nccl_timeout
        actor_rollout_ref.actor: optim.* clip_* *_coeff *_coef *kl_loss* loss_* policy_loss ppo_epochs shuffle
            data_loader_seed checkpoint profiler grad_clip router_replay rollout_n tau_* calculate_*
            freeze_vision_tower use_remove_padding
        actor_rollout_ref.actor.fsdp_config: wrap_policy seed full_determinism forward_* use_orig_params strategy
        actor_rollout_ref.actor.megatron: seed *dist_checkpointing* *mbridge
        actor_rollout_ref.model: tokenizer_path hf_config_path use_shm trust_remote_code custom_chat_template
            external_lib lora_alpha target_modules use_remove_padding fused_kernel_options
        actor_rollout_ref.model.mtp: *_* method
    """),
    usual=_usual("""
        actor_rollout_ref.model.mtp.speculative_algorithm=eagle
        actor_rollout_ref.actor: ppo_max_token_len_per_gpu=16384 use_torch_compile=true
        actor_rollout_ref.actor.fsdp_config: use_torch_compile=true dtype=bfloat16
        actor_rollout_ref.actor.megatron: use_remove_padding=true dtype=bfloat16
    """),
)
_AXES = "data fsdp fsdp_transpose tensor context pipeline expert tensor_sequence sequence"
MAXTEXT = ProgramKeys(
    program="a configuration of MaxText",
    stack="MaxText",
    marks=_words("per_device_batch_size base_emb_dim")
    | {f"{where}_{axis}_parallelism" for where in ("ici", "dcn") for axis in _AXES.split()},
    used=_used(f"""
        model_name per_device_batch_size max_target_length=sequence gradient_accumulation_steps=microbatches
        remat_policy {" ".join(f"ici_{axis}_parallelism dcn_{axis}_parallelism" for axis in _AXES.split())}
        quantization base_emb_dim base_num_query_heads base_num_kv_heads base_mlp_dim base_num_decoder_layers head_dim
        base_moe_mlp_dim num_experts num_experts_per_tok vocab_size global_parameter_scale logits_via_embedding
        first_num_dense_layers shared_experts q_lora_rank kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim
        attention_type use_qk_norm mlp_activations decoder_block attention opt_type=stack.optimizer mu_dtype
        weight_dtype optimizer_memory_host_offload parameter_memory_host_offload num_pipeline_repeats=virtual
        num_pipeline_microbatches
    """),
    harmless=_words("""
        run_name *_output_directory load_* hf_* *checkpoint* metrics_* gcs_* *wandb* save_* dataset_* tokenize*
        train_* eval_* grain_* olmo_* steps log_* learning_rate* *warmup* wsd_* adam_* *_seed *data_shuffl*
        enable_dropout dropout_rate packing max_corpus_chars add_bos add_eos *profile* *goodput* *tensorboard*
        *monitor* dump_* jax_* compile_topology* compiled_trainstep_file hardware mesh_axes logical_axis_rules
        data_sharding base_config normalization_layer_epsilon rope_* *_rope_* init_weights_seed prompt *prefill*
        decode_* inference_* vertex_* enable_* reuse_example_batch use_chat_template chat_template*
        max_segments_per_seq gradient_clipping_threshold dtype sa_* local_sa_* megablox sparse_matmul capacity_factor
        load_balance_loss_weight norm_topk_prob routed_* z_loss* max_position_embeddings
        original_max_position_embeddings mscale beta_fast beta_slow scan_layers param_scan_axis
        allow_split_physical_axes num_slices attn_logits_soft_cap final_logits_soft_cap matmul_precision *_for_vit
        *_for_audio use_multimodal shardy log_config stack_prefill_result_cache *_tile_* indexer_* moba_* gdn_*
        engram_* diloco_* dcn_bandwidth_* distill_* elastic_* mhc_* muon_* *_placeholder block_diffusion_* *_path
        ragged_* prometheus_port managed_* mtp_loss* mtp_eval* kv_quant_* cost_estimate_* decoder_layer_input context
        mlpw* moe_mlpw* query_proj key_proj value_proj kv_proj qkv_proj out_proj *_wa_proj mla_q mla_kv attention_out
        *_calibration_method *axis_order abort_on_* *_sharding logical_axis_rules* max_checkify max_inflight*
        model_call_mode multi_sampling internal_compile* pure_nnx* heartbeat* debug_* override_*
        expansion_factor_real_data num_epoch use_iota_embed xla_* libtpu_init_args
    """),
    usual=_usual("weight_dtype=float32 grad_dtype=float32"),
)
PROGRAMS = (VERL, ACCELERATE, AXOLOTL, LLAMA_FACTORY, TRAINER, MAXTEXT, DEEPSPEED, TORCHTITAN, MEGATRON)
HUB = ProgramKeys(
    program="config.json",
    stack="",
    marks=_words("model_type architectures num_hidden_layers"),
    used=_used("""
        model_type num_hidden_layers n_layer n_layers num_layers hidden_size n_embd d_model num_attention_heads n_head
        n_heads vocab_size tie_word_embeddings use_qk_norm kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim
        q_lora_rank head_dim attention_head_size num_key_value_heads num_kv_heads multi_query new_decoder_architecture
        use_bias mlp_bias attention_bias qkv_bias n_positions intermediate_size_mlp intermediate_size n_inner ffn_dim
        ffn_hidden_size n_routed_experts num_local_experts num_experts moe_num_experts moe_intermediate_size
        num_experts_per_tok num_experts_per_token moe_topk moe_k top_k_experts use_routing_bias
        shared_expert_intermediate_size shared_intermediate_size n_shared_experts num_shared_experts
        moe_num_shared_experts interleave_moe_layer_step decoder_sparse_step mlp_only_layers first_k_dense_replace
        num_dense_layers moe_layer_freq mlp_layer_types dense_intermediate_size moe_layer_interval
        moe_layer_start_index layer_types layers_block_type is_encoder_decoder block_configs enable_moe_block
        hidden_size_per_layer_input vocab_size_per_layer_input sliding_window use_sliding_window
        num_nextn_predict_layers mtp_num_hidden_layers text_config llm_config language_config
    """),
    harmless=_words("""
        architectures auto_map _name_or_path name_or_path transformers_version torch_dtype dtype *_token_id
        *_token_ids *_token_index *_token *_dropout *_pdrop dropout *_eps *epsilon initializer_range *_init* init_*
        use_cache max_position_embeddings n_ctx max_seq_len* max_length rope_* *_rope_* *rotary* mrope*
        partial_rotary_factor hidden_act hidden_activation activation_function act_fn *_act activation pretraining_tp
        return_dict* output_* use_return_dict task_specific_params is_decoder add_cross_attention scale_attn_*
        reorder_and_upcast_attn summary_* attn_implementation _attn_implementation* _flash_attn* use_flash_attn*
        attn_config gradient_checkpointing router_* norm_topk_prob *routed_scaling_factor scoring_func topk_method
        topk_group n_group num_expert_group aux_loss* *_aux_loss* *_loss_coef* seq_aux ep_size query_pre_attn_scalar
        *_softcapping *_soft_cap logit_scale logits_scaling *_multiplier embedding_scale residual_scale scale_emb
        scale_depth dim_model_base temperature* cache_implementation clip_qkv max_window_layers sliding_window_pattern
        layer_norm_type parallel_attn attention_out_bias original_max_position_embeddings original_rope* bias alibi
        parametric_sequence_length swiglu_limit experts_per_token num_attention_groups no_rope_layer* use_rope*
        attn_temperature_tuning floor_scale attn_scale rms_norm* norm_* vision_config audio_config vision_* audio_*
        image_* video_* mm_* projector_* *_projector* tokenizer_class *_token_name id2label label2id problem_type
        finetuning_task pruned_heads torchscript for_llm_class attention_chunk_size interleaved_* multimodal*
        chunk_size_feed_forward decoder_start* bad_words* tie_encoder_decoder use_bfloat16 is_llama_config
        moe_router_* use_moe moe_gate* layernorm* unsloth_* quantize experts_implementation head_type ffn_act_fn
        use_mla moe_group* boi_* eoi_* eoa_* boa_* attn_logit* final_logit* spatial_merge* language_model*
        use_expert_bias score_function
    """),
    usual=_usual("hidden_act=silu"),
)
