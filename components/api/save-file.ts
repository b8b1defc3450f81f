export function fileNameOf(response: Response, defaultName: string): string {
  const header = response.headers.get('content-disposition') ?? ''
  return /filename="([^"]+)"/.exec(header)?.[1] ?? defaultName
}

export function saveAs(file: Blob, name: string): void {
  const href = URL.createObjectURL(file)
  Object.assign(document.createElement('a'), { href, download: name }).click()
  // Some browsers read the file only after the click event has finished.
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}
