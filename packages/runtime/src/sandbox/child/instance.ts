import { readFile } from 'node:fs/promises'
import type Variant from '@jitl/quickjs-ng-wasmfile-release-sync'
import type * as Core from 'quickjs-emscripten-core'

// The types of Node leave it out.
interface Wasm {
  compile(bytes: Uint8Array): Promise<object>
  Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
}
const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly

const PAGE = 65_536
const INITIAL_PAGES = 256

/** QuickJS in a WebAssembly instance of its own. */
export interface Instance {
  readonly engine: Core.QuickJSWASMModule
  /** The most memory that its programs have used so far, in bytes. */
  peak(): number
}

/** Makes QuickJS anew, with a memory of its own, which grows no further than allowed. */
export type MakeInstance = () => Promise<Instance>

/** Loads QuickJS once; the modules are named by their URLs, for the child may not look for packages. */
export async function loadQuickJs(
  coreUrl: string,
  variantUrl: string,
  maxBytes: number
): Promise<MakeInstance> {
  const core = (await import(coreUrl)) as typeof Core
  // Its types are those of CommonJS: to them, the module is its own default.
  const { default: variant } = (await import(variantUrl)) as typeof Variant
  const wasmModule = await wasm.compile(await readFile(new URL('./emscripten-module.wasm', variantUrl)))
  const maximum = INITIAL_PAGES + Math.ceil(maxBytes / PAGE)
  // What QuickJS itself takes is the same in every instance.
  let own: number | undefined
  return async () => {
    const wasmMemory = new wasm.Memory({ initial: INITIAL_PAGES, maximum })
    const variantOf = core.newVariant(variant, { wasmModule, wasmMemory })
    const engine = await core.newQuickJSWASMModuleFromVariant(variantOf)
    const taken = (own ??= usedOf(wasmMemory.buffer))
    return { engine, peak: () => usedOf(wasmMemory.buffer) - taken }
  }
}

// Up to the last byte that was ever written: a memory begins with zeros, and what is freed stays as it was.
function usedOf(buffer: ArrayBuffer): number {
  const words = new Uint32Array(buffer)
  let end = words.length
  while (end > 0 && words[end - 1] === 0) end--
  return 4 * end
}
