import { readFile } from 'node:fs/promises'
import type Variant from '@jitl/quickjs-ng-wasmfile-release-sync'
import type * as Core from 'quickjs-emscripten-core'

// Missing in the types of Node.
interface Wasm {
  compile(bytes: Uint8Array): Promise<object>
  Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
}
const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly

const PAGE = 65_536
const INITIAL_PAGES = 256

/** QuickJS in its own WebAssembly instance. */
export interface Instance {
  readonly engine: Core.QuickJSWASMModule
  /** Peak memory of its programs so far, in bytes. */
  peak(): number
}

/** Creates a fresh QuickJS with its own, bounded memory. */
export type MakeInstance = () => Promise<Instance>

/** Loads QuickJS once. Takes module URLs, as the child may not resolve packages. */
export async function loadQuickJs(
  coreUrl: string,
  variantUrl: string,
  maxBytes: number
): Promise<MakeInstance> {
  const core = (await import(coreUrl)) as typeof Core
  // Its types are those of CommonJS, where the module is its own default.
  const { default: variant } = (await import(variantUrl)) as typeof Variant
  const wasmModule = await wasm.compile(await readFile(new URL('./emscripten-module.wasm', variantUrl)))
  const maximum = INITIAL_PAGES + Math.ceil(maxBytes / PAGE)
  // Memory of QuickJS itself, the same in every instance.
  let own: number | undefined
  return async () => {
    const wasmMemory = new wasm.Memory({ initial: INITIAL_PAGES, maximum })
    const variantOf = core.newVariant(variant, { wasmModule, wasmMemory })
    const engine = await core.newQuickJSWASMModuleFromVariant(variantOf)
    const base = (own ??= usedOf(wasmMemory.buffer))
    return { engine, peak: () => usedOf(wasmMemory.buffer) - base }
  }
}

// Up to the last byte ever written: memory starts zeroed, and freed bytes keep their content.
function usedOf(buffer: ArrayBuffer): number {
  const words = new Uint32Array(buffer)
  let end = words.length
  while (end > 0 && words[end - 1] === 0) end--
  return 4 * end
}
