/** Opens a session of Engine.IO that polls. */
export async function openPolling(origin: string) {
  const opened = `${origin}/socket.io/?EIO=4&transport=polling`
  const { sid } = JSON.parse((await (await fetch(opened)).text()).slice(1)) as { sid: string }
  const url = `${opened}&sid=${sid}`
  return { sid, url, post: (body: string) => fetch(url, { method: 'POST', body }) }
}
