export interface RawResponse {
  status: number
  headers: Record<string, string>
  body: Buffer
}

/** Splits what came back on one connection into its responses; throws if they are not exactly `count`. */
export function splitResponses(bytes: Buffer, count: number): RawResponse[] {
  const responses: RawResponse[] = []
  let at = 0
  const readLine = () => {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) throw new Error(`a line does not end, at ${at} of ${bytes.length} bytes`)
    const line = bytes.toString('latin1', at, end)
    at = end + 2
    return line
  }
  const take = (length: number) => {
    if (at + length > bytes.length)
      throw new Error(`a body ends after ${bytes.length - at} of ${length} bytes`)
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const status = Number(readLine().split(' ')[1])
    const headers: Record<string, string> = {}
    for (let line = readLine(); line !== ''; line = readLine()) {
      const [name = ''] = line.split(':', 1)
      headers[name.toLowerCase()] = line.slice(name.length + 1).trim()
    }
    const chunks: Buffer[] = []
    if (headers['transfer-encoding'] === 'chunked') {
      for (let length = Number.parseInt(readLine(), 16); length > 0; ) {
        chunks.push(take(length))
        take(2)
        length = Number.parseInt(readLine(), 16)
      }
      take(2)
    } else if (headers['content-length'] !== undefined)
      chunks.push(take(Number(headers['content-length'])))
    else if (status !== 304) chunks.push(take(bytes.length - at))
    responses.push({ status, headers, body: Buffer.concat(chunks) })
  }
  if (responses.length !== count) throw new Error(`${responses.length} responses, not ${count}`)
  return responses
}
