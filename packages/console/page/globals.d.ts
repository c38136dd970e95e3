// Style sheets are imported for their effect: the bundler collects them.
declare module '*.css'

/** The address of `voice/audio-worklet.ts`, beside the other scripts. */
declare const AUDIO_WORKLET: string
