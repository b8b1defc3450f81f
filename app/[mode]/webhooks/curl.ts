interface Call {
  url: string
  headers: Record<string, string>
  body: string
}

/** A line for a shell that sends the same bytes: nothing in it is read as anything but text. */
export function curlOf({ url, headers, body }: Call): string {
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  // Without globoff curl would read brackets in an address as a pattern.
  return [`curl --globoff ${quoted(url)}`, ...given, `--data-raw ${quoted(body)}`].join(' \\\n  ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
