import { resolve } from 'node:path'
import { build } from 'esbuild'

/** The page as one script. */
export async function bundlePage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(import.meta.dirname, 'page.jsx')],
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' }
  })
  return outputFiles[0]!.text
}
