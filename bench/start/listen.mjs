/** Prints where an app listens, once it does, and says on request what its process has loaded and uses, in modules and bytes. */
export async function listen(app) {
  app.get('/state', async () => {
    gc()
    return { rss: process.memoryUsage.rss(), modules: globalThis.loadedModules?.size ?? 0 }
  })
  console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
}
