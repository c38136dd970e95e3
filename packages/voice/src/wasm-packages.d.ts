declare module '@echogarden/fvad-wasm' {
  export default function load(): Promise<{
    /** Replaced when the memory grows: read it again after each call. */
    readonly HEAP16: Int16Array
    _malloc(bytes: number): number
    /** 0 if there is no memory. */
    _fvad_new(): number
    _fvad_free(vad: number): void
    /** @param mode 0 to 3, the last finds the least */
    _fvad_set_mode(vad: number, mode: number): number
    _fvad_set_sample_rate(vad: number, rate: number): number
    /** 1 for speech, 0 for none, -1 for a bad length. */
    _fvad_process(vad: number, frame: number, length: number): number
  }>
}

declare module '@echogarden/speex-resampler-wasm/simd' {
  export interface SpeexResampler {
    /** Replaced when the memory grows: read them again after each call. */
    readonly HEAP16: Int16Array
    readonly HEAPU32: Uint32Array
    _malloc(bytes: number): number
    /** 0 if there is no memory. @param quality 0 to 10 */
    _speex_resampler_init(channels: number, from: number, to: number, quality: number, error: number): number
    _speex_resampler_destroy(state: number): void
    _speex_resampler_skip_zeros(state: number): number
    _speex_resampler_reset_mem(state: number): number
    /** The lengths are pointers, to what there is and then to what was used, in samples. */
    _speex_resampler_process_int(
      state: number,
      channel: number,
      input: number,
      inputLength: number,
      output: number,
      outputLength: number
    ): number
  }
  export default function load(): Promise<SpeexResampler>
}
