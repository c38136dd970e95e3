import { readFile } from 'node:fs/promises'
import type Variant from '@jitl/quickjs-ng-wasmfile-release-sync'
import type * as Core from 'quickjs-emscripten-core'

// The types of Node leave it out.
interface Wasm {
  compile(bytes: Uint8Array): Promise<object>
  Memory: new (pages: { initial: number; maximum: number }) => object
}
const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly

const PAGE = 65_536
const INITIAL_PAGES = 256

/** Makes QuickJS anew: a WebAssembly instance with a memory of its own, which grows no further than allowed. */
export type MakeInstance = () => Promise<Core.QuickJSWASMModule>

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
  return () => {
    const wasmMemory = new wasm.Memory({ initial: INITIAL_PAGES, maximum })
    return core.newQuickJSWASMModuleFromVariant(core.newVariant(variant, { wasmModule, wasmMemory }))
  }
}
